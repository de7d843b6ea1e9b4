import t from "tap";
import { endsWithImage, imageFault } from "../../../../core/wire/vision.ts";
import { edited } from "../../../../plugins/translate/edits/index.ts";
import { withoutImages } from "../../../../plugins/translate/edits/media.ts";

const image = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };

t.test("an image in the output of a tool does not end a Responses session", async (t) => {
  const task = { type: "message", role: "user", content: [{ type: "input_text", text: "look" }] };
  const call = { type: "function_call", call_id: "c", name: "view_image", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "c", output: [image] };
  const body = { input: [task, call, output] };
  t.equal(endsWithImage(body, "responses"), false);
  const text = "[image omitted: m cannot read images]";
  t.strictSame(withoutImages(body, "input", "m"), {
    input: [task, call, { ...output, output: [{ type: "input_text", text }] }],
  });
  t.equal(
    endsWithImage({ input: [call, output, { role: "user", content: [image] }] }, "responses"),
    false,
  );
  t.equal(endsWithImage({ input: [task, { role: "user", content: [image] }] }, "responses"), true);
});

t.test("a body without images stays as it is", async (t) => {
  const body = { input: [{ type: "function_call_output", call_id: "c", output: "text" }] };
  t.equal(withoutImages(body, "input", "m"), body);
});

const PDF = "data:application/pdf;base64,JVBERi0=";

t.test(
  "a text or PDF in a data URL is no image, and reaches the model as a document",
  async (t) => {
    const asImage = (url: string) => ({ type: "image_url", image_url: { url } });
    const file = { filename: "document.pdf", file_data: PDF };
    for (const [url, expected] of [
      ["data:text/plain;charset=utf-8;base64,eGluIGNow6Bv", { type: "text", text: "xin chào" }],
      ["data:text/csv,a%2Cb", { type: "text", text: "a,b" }],
      ["data:,a%u0041%u4e2d%zz", { type: "text", text: "a%u0041%u4e2d%zz" }],
      ["data:,plain", { type: "text", text: "plain" }],
      [PDF, { type: "file", file }],
    ] as const) {
      const body = { messages: [{ role: "user", content: [asImage(url)] }] };
      t.equal(imageFault(body, "chat"), undefined, url);
      t.equal(endsWithImage(body, "chat"), false, url);
      t.equal(withoutImages(body, "messages", "m"), body, url);
      const made = edited(body, "chat", {});
      t.match(made, { ok: true, body: { messages: [{ content: [expected] }] } }, url);
    }
    const input = [{ role: "user", content: [{ type: "input_image", image_url: PDF }] }];
    const made = edited({ input }, "responses", {});
    t.match(made, { ok: true, body: { input: [{ content: [{ type: "input_file", ...file }] }] } });
    const svg = { messages: [{ role: "user", content: [asImage("data:image/svg+xml,a")] }] };
    t.equal(imageFault(svg, "chat"), "unreadable", "a drawing is neither");
  },
);
