import t from "tap";
import { type RequestBody, readJson } from "../../../core/body/request-body.ts";
import { isRefusal } from "../../../core/plugin/index.ts";
import { readDialect } from "../../../plugins/translate/chat/dialects.ts";

const bodyOf = (fields: object): RequestBody => {
  const body = readJson(Buffer.from(JSON.stringify(fields)));
  if (isRefusal(body)) throw new Error(body.message);
  return body;
};

t.test("a request of Chat keeps its bytes", async (t) => {
  const tools = [
    { type: "function", function: { name: "f" } },
    { type: "custom", custom: { name: "c" } },
  ];
  const fields = { model: "m", messages: [{ role: "user", content: "x" }], tools };
  const body = bodyOf(fields);
  const { outline } = body;
  t.equal(readDialect(body), undefined);
  t.equal(body.outline, outline);
});

t.test("calls and results of Responses become messages of Chat", async (t) => {
  const call = (call_id: string) => ({
    type: "function_call",
    call_id,
    name: "f",
    arguments: "{}",
  });
  const result = (call_id: string) => ({ type: "function_call_output", call_id, output: "ok" });
  const body = bodyOf({
    input: [
      { role: "user", content: "x" },
      { type: "reasoning", summary: [] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "a" }] },
      ...[call("1"), call("2"), result("1"), result("2"), call("3"), result("3")],
      { role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA" }] },
    ],
    tools: [{ type: "function", name: "f" }],
    tool_choice: { type: "function", name: "f" },
  });
  t.equal(readDialect(body), undefined);
  const made = (id: string) => ({
    ...{ id, type: "function", function: { name: "f", arguments: "{}" } },
  });
  const answer = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" });
  t.strictSame(body.json(), {
    tools: [{ type: "function", function: { name: "f" } }],
    tool_choice: { type: "function", function: { name: "f" } },
    messages: [
      { role: "user", content: "x" },
      {
        ...{ role: "assistant", content: [{ type: "text", text: "a" }] },
        tool_calls: [made("1"), made("2")],
      },
      ...[answer("1"), answer("2")],
      { role: "assistant", content: null, tool_calls: [made("3")] },
      answer("3"),
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
      },
    ],
  });
});

t.test("a long body in another form than Chat is refused, as it is not rewritten", async (t) => {
  const body = bodyOf({ input: "x".repeat(4 * 1_048_576) });
  t.match(readDialect(body), { status: 400, param: "messages" });
});
