import t from "tap";
import { billedCalls, customerWith } from "../support/billed.ts";
import { asking, eventsOf, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const MODEL = "grok-4.5";

/** The tools that Codex offers to any model: functions, a custom tool, and groups of functions. */
const TOOLS = [
  { type: "function", name: "exec_command", parameters: { type: "object" }, strict: false },
  {
    ...{ type: "custom", name: "apply_patch", description: "Edit files." },
    format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
  },
  {
    ...{ type: "namespace", name: "agents", description: "" },
    tools: [{ type: "function", name: "spawn", parameters: { type: "object" }, strict: false }],
  },
  { type: "local_shell" },
  { type: "web_search", external_web_access: true },
];

/** The model calls each of these, one step each, and replies with text. */
const STEPS = [
  [{ name: "exec_command", arguments: { cmd: "cat a.txt" } }],
  [{ name: "apply_patch", arguments: { input: "*** Begin Patch\n" } }],
  [{ name: "agents__spawn", arguments: {} }],
];

/** A body or an item; a missing field fails the assertion that reads it. */
// biome-ignore lint/suspicious/noExplicitAny: items have many shapes
type Json = any;

t.test("Codex works on Grok, which has other kinds of tools", async (t) => {
  const gateway = await sharedGateway();

  const codex = (input: Json[], more: object = {}) => ({
    ...{ model: MODEL, stream: true, store: false, input, tools: TOOLS, tool_choice: "auto" },
    ...{ parallel_tool_calls: true, include: ["reasoning.encrypted_content"] },
    ...{ reasoning: { summary: "auto" }, prompt_cache_key: "k", client_metadata: { a: "x" } },
    ...more,
  });

  /** Codex sends an item back with null for what it has not. */
  const asCodexKeeps = (item: Json) =>
    item.type === "reasoning" ? { ...item, content: null } : item;

  t.test("a session of four calls, each kind of tool called as it was declared", async (t) => {
    const customer = await customerWith(gateway, 1_000_000);
    const input: Json[] = [{ type: "message", role: "user", content: steps(STEPS) }];
    const called: Json[] = [];
    for (let step = 0; step <= STEPS.length; step++) {
      const reply = await post(gateway, paths.responses, customer, codex(input));
      t.equal(reply.status, 200, reply.text);
      const last = eventsOf(reply.text).at(-1);
      t.equal(last.type, "response.completed");
      const { output } = last.response;
      input.push(...output.map(asCodexKeeps));
      const calls = output.filter(({ type }: Json) => /_call$/.test(type));
      called.push(...calls);
      const thought = output.find(({ type }: Json) => type === "reasoning");
      if (calls.length > 0) t.match(thought, { summary: [{ type: "summary_text" }] });
      for (const { type, call_id } of calls) {
        input.push({ type: `${type}_output`, call_id, output: "ok" });
      }
    }
    t.match(called, [
      { type: "function_call", name: "exec_command", arguments: '{"cmd":"cat a.txt"}' },
      { type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch\n" },
      { type: "function_call", namespace: "agents", name: "spawn" },
    ]);
    t.equal(called.length, STEPS.length);
    t.equal((await billedCalls(gateway, customer, STEPS.length + 1)).length, STEPS.length + 1);

    // The whole session, as the provider gets it.
    input.push({ type: "message", role: "user", content: asking({ echo: true }) });
    const reply = await post(gateway, paths.responses, customer, codex(input, { stream: false }));
    t.equal(
      reply.headers.get("x-svc-translate-dropped"),
      "client_metadata,namespace.description,local_shell",
    );
    const { path, body } = JSON.parse(
      reply.json.output.find(({ type }: Json) => type === "message").content[0].text,
    );
    t.equal(path, "/v1/responses");
    t.match(body, { prompt_cache_key: /^[0-9a-f]{64}$/, reasoning: { summary: "auto" } });
    t.strictSame(
      body.tools.map(({ type, name }: Json) => `${type} ${name}`),
      ["function exec_command", "function apply_patch", "function agents__spawn"],
    );
    const step = ["reasoning", "function_call", "function_call_output"];
    t.strictSame(
      body.input.map(({ type, role }: Json) => type ?? role),
      ["user", ...step, ...step, ...step, "message", "user"],
      "Grok gets its own reasoning back",
    );
  });

  t.test("without such tools the request passes, but for what Grok refuses", async (t) => {
    const customer = await customerWith(gateway);
    const [fn] = TOOLS;
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], content: null };
    const input = [
      { role: "user", content: "look" },
      { ...reasoning, encrypted_content: null },
      { type: "function_call", call_id: "c", name: "exec_command", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "ok" },
      { role: "user", content: asking({ echo: true }) },
    ];
    for (const tools of [[fn], []]) {
      const more = { tools, stream: false, metadata: { a: "b" } };
      const reply = await post(gateway, paths.responses, customer, codex(input, more));
      t.equal(reply.status, 200, reply.text);
      t.equal(reply.headers.get("x-svc-translate-dropped"), "metadata");
      const { body } = JSON.parse(reply.json.output.at(-1).content[0].text);
      const { content: _, ...kept } = reasoning;
      t.strictSame(body.input[1], { ...kept, encrypted_content: null });
      t.equal(body.tool_choice, tools.length > 0 ? "auto" : undefined);
      t.match(body.client_metadata, { a: "x" }, "the rest is as it came");
    }
  });

  t.test("reasoning that Grok cannot decode any more is left out, once", async (t) => {
    const customer = await customerWith(gateway);
    const input = [
      { role: "user", content: "look" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "of another key" },
      { type: "function_call", call_id: "c", name: "exec_command", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "ok" },
    ];
    const more = { tools: TOOLS.slice(0, 1), stream: false };
    const reply = await post(gateway, paths.responses, customer, codex(input, more));
    t.equal(reply.status, 200, reply.text);
  });
});

function steps(script: unknown): string {
  return `Go. [[steps ${JSON.stringify(script)}]]`;
}
