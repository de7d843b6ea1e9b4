import t from "tap";
import { type Bench, post, startBench } from "../provider/sim.ts";

let bench: Bench;

t.before(async () => {
  bench = await startBench();
});
t.teardown(() => bench.simulator.close());

const parameters = {
  type: "object",
  properties: { path: { type: "string" }, lines: { type: "integer" } },
  required: ["path"],
};
const names = ["read", "list"];
const claudeTools = names.map((name) => ({ name, input_schema: parameters }));
const chatTools = names.map((name) => ({ type: "function", function: { name, parameters } }));
const responsesTools = names.map((name) => ({ type: "function", name, parameters }));

type Json = Record<string, never>;

async function ask(path: string, body: object): Promise<{ status: number; reply: Json }> {
  const response = await post(bench, path, JSON.stringify(body));
  return { status: response.status, reply: (await response.json()) as Json };
}

t.test("calls two tools at once, then one, then replies: Messages", async (t) => {
  const messages: object[] = [{ role: "user", content: "do it" }];
  const calls: number[] = [];
  const call = (tools: object[] = claudeTools) =>
    ask("/v1/messages", { model: "claude-opus-5-5", max_tokens: 999, messages, tools });
  for (let step = 0; step < 3; step++) {
    const { status, reply } = await call();
    t.equal(status, 200, JSON.stringify(reply));
    const content = reply["content"] as unknown as Json[];
    messages.push({ role: "assistant", content });
    const uses = content.filter((block) => block["type"] === "tool_use");
    calls.push(uses.length);
    if (uses.length === 0) break;
    t.equal(content[0]?.["type"], "thinking");
    t.match(uses[0]?.["input"], { path: "value" });
    messages.push({
      role: "user",
      content: uses.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "ok" })),
    });
  }
  t.strictSame(calls, [2, 1, 0]);

  t.test("and takes its thinking with more tools only if they are deferred", async (t) => {
    messages.push({ role: "user", content: "go on" });
    const later = { name: "later", input_schema: parameters };
    t.equal((await call([...claudeTools, { ...later, defer_loading: true }])).status, 200);
    const { status, reply } = await call([...claudeTools, later]);
    t.match(
      { status, reply },
      { status: 400, reply: { error: { message: /bound to a different/ } } },
    );
  });

  t.test("and refuses its thinking in another conversation, or changed", async (t) => {
    messages[0] = { role: "user", content: "do another" };
    t.match(await call(), { status: 400, reply: { error: { message: /bound to a different/ } } });
    const [, turn] = messages as [object, { content: { signature: string }[] }];
    turn.content[0]!.signature = turn.content[0]!.signature.replace(/^./, "_");
    t.match(await call(), { status: 400, reply: { error: { message: /Invalid `signature`/ } } });
  });
});

t.test("wants thought signatures and reasoning back: Chat", async (t) => {
  const models: readonly (readonly [string, string, RegExp])[] = [
    ["gemini-3.5-flash", "extra_content", /missing a thought_signature/],
    ["deepseek-v4-pro", "reasoning_content", /must be passed back/],
    ["kimi-k2.6", "reasoning_content", /reasoning_content is missing/],
  ];
  for (const [model, field, words] of models) {
    const messages: object[] = [{ role: "user", content: "do it" }];
    const call = () => ask("/v1/chat/completions", { model, messages, tools: chatTools });
    const first = await call();
    t.equal(first.status, 200, JSON.stringify(first.reply));
    const [{ message }] = first.reply["choices"] as unknown as [
      { message: { tool_calls: Json[] } },
    ];
    t.equal(message.tool_calls.length, 2);
    messages.push(message);
    for (const { id } of message.tool_calls) {
      messages.push({ role: "tool", tool_call_id: id, content: "ok" });
    }
    t.equal((await call()).status, 200, model);
    const bare = JSON.parse(JSON.stringify(message)) as Record<string, unknown>;
    delete bare[field];
    for (const made of bare["tool_calls"] as Record<string, unknown>[]) delete made[field];
    messages[1] = bare;
    t.match(JSON.stringify(await call()), words);
  }
});

t.test("gives MiniMax's thoughts inside of its content unless they are split off", async (t) => {
  const body = {
    model: "MiniMax-M3",
    messages: [{ role: "user", content: "a" }],
    tools: chatTools,
  };
  const inline = await ask("/v1/chat/completions", body);
  t.match(JSON.stringify(inline), /<think>/);
  const split = await ask("/v1/chat/completions", { ...body, reasoning_split: true });
  t.match(JSON.stringify(split), /reasoning_details/);
  t.notMatch(JSON.stringify(split), /<think>/);
});

t.test("binds encrypted reasoning to its maker: Responses", async (t) => {
  const include = ["reasoning.encrypted_content"];
  const input: object[] = [{ role: "user", content: "do it" }];
  const call = (model: string) =>
    ask("/v1/responses", { model, input, include, tools: responsesTools });
  const first = await call("gpt-5.6-sol");
  t.equal(first.status, 200, JSON.stringify(first.reply));
  const output = first.reply["output"] as unknown as Json[];
  t.strictSame(
    output.map(({ type }) => type),
    ["reasoning", "function_call", "function_call"],
  );
  input.push(...output);
  for (const { type, call_id } of output) {
    if (type === "function_call")
      input.push({ type: "function_call_output", call_id, output: "ok" });
  }
  t.equal((await call("gpt-5.6-sol")).status, 200);
  t.match(await call("grok-4.5"), { status: 400, reply: { error: /could not decode/i } });
});

t.test("calls the tools that a script in the prompt names, with its arguments", async (t) => {
  const steps = [
    [{ name: "read", arguments: { path: "a" } }, [{ name: "gone" }, { name: "list" }]],
    [{ name: "read", arguments: { path: "b" } }],
  ];
  const prompt = `do it [[steps ${JSON.stringify(steps)}]]`;
  const run = async (fields: object) => {
    const messages: object[] = [{ role: "user", content: prompt }];
    const made: string[][] = [];
    for (let step = 0; step < 5; step++) {
      const body = { model: "gpt-4.1", messages, tools: chatTools, ...fields };
      const { reply } = await ask("/v1/chat/completions", body);
      const [{ message }] = reply["choices"] as unknown as [{ message: Json }];
      const calls = (message["tool_calls"] ?? []) as { id: string; function: Json }[];
      if (calls.length === 0) return made;
      made.push(calls.map(({ function: f }) => `${f["name"]}${f["arguments"]}`));
      messages.push(
        message,
        ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "ok" })),
      );
    }
    return made;
  };
  const [a, list, b] = ['read{"path":"a"}', "list{}", 'read{"path":"b"}'];
  t.strictSame(await run({}), [[a, list], [b]]);
  t.strictSame(await run({ parallel_tool_calls: false }), [[a], [list], [b]]);
});

t.test("follows the script in a compaction of its own, and in no other", async (t) => {
  const text = `Half is done. [[steps [[{"name":"look","arguments":{"at":2}}]]]]`;
  const script = `[[steps [[{"name":"look","arguments":{"at":1}}]]]]`;
  const user = { role: "user", content: script };
  const call = async (input: readonly object[]) => {
    const tools = [{ type: "function", name: "look", parameters: { type: "object" } }];
    const { status, reply } = await ask("/v1/responses", { model: "gpt-5.6-sol", tools, input });
    return { status, output: reply["output"] as unknown as Json[] };
  };
  const full = { role: "user", content: `go on [[sim ${JSON.stringify({ text })}]]` };
  const { output } = await call([user, full, { type: "compaction_trigger" }]);
  t.match(output, [{ type: "compaction" }]);
  const next = (await call([user, ...output])).output;
  t.match(next.at(-1), { type: "function_call", name: "look", arguments: '{"at":2}' });
  const [made] = output;
  const changed = { ...made, encrypted_content: `x${made?.["encrypted_content"]}` };
  t.equal((await call([user, changed])).status, 400);
});

t.test(
  "calls a custom tool in a namespace that an item of the input adds: Responses",
  async (t) => {
    const tools = [
      { type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] },
    ];
    const script = `[[steps [[{"name":"exec","arguments":"text(1)"}]]]]`;
    const input: object[] = [
      { type: "additional_tools", role: "developer", tools },
      { role: "user", content: [{ type: "input_text", text: script }] },
    ];
    const body = { model: "gpt-5.6-sol", input };
    const { reply } = await ask("/v1/responses", body);
    const output = reply["output"] as unknown as Json[];
    const call = output.find(({ type }) => type === "custom_tool_call");
    t.match(call, { namespace: "functions", name: "exec", input: "text(1)" });
    const stream = await post(bench, "/v1/responses", JSON.stringify({ ...body, stream: true }));
    t.match(await stream.text(), /custom_tool_call_input\.done.*"input":"text\(1\)"/);
    input.push(...output);
    t.match(await ask("/v1/responses", body), { status: 400 }, "its output is missing");
    const { call_id } = call ?? {};
    input.push({ type: "custom_tool_call_output", call_id, output: "1" });
    t.equal((await ask("/v1/responses", body)).status, 200);
  },
);
