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

t.test("the name of a file ends where the client's does", async (t) => {
  const data = Buffer.from("a");
  for (const [filename, sent] of [
    ['a".png', "a%22.png"],
    ["a\\", "a%5C"],
    ['a\\".png', "a%5C%22.png"],
    ["a\r\n.png", "a%0D%0A.png"],
  ] as const) {
    const form = new FormBody([{ name: "image", data, filename }]);
    t.match(String(form.bytes()), `name="image"; filename="${sent}"\r\n`);
  }
});
