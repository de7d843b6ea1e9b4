import t from "tap";
import { endsWithImage } from "../../../../core/contract/vision.ts";
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
