import t from "tap";
import { FormBody } from "../../../core/upstream/dispatch.ts";

t.test("a form is sent with the route's model instead of the client's", async (t) => {
  const part = (name: string, data: string) => ({ name, data: Buffer.from(data) });
  const parts = [part("model", "client-model"), part("prompt", "in blue")];
  const form = new FormBody(parts);
  form.set("model", "provider-model");
  const { contentType } = form;
  const boundary = /^multipart\/form-data; boundary=(tollgate-[0-9a-f]{32})$/.exec(
    contentType,
  )?.[1];
  t.ok(boundary);
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const fields = field("model", "provider-model") + field("prompt", "in blue");
  t.equal(String(form.bytes()), `${fields}--${boundary}--\r\n`);
});
