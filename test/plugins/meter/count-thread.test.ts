import t from "tap";
import { BodyThreads } from "../../../core/body/threads.ts";
import countInThread, { type Count } from "../../../plugins/meter/count-thread.ts";
import { countedInput } from "../../../plugins/meter/tokenize.ts";
import { recordedLog } from "../../support/log.ts";

const request = { messages: [{ role: "user", content: "How many tokens are in this sentence?" }] };
const COUNTED = { input: countedInput(request), model: undefined };

async function count(body: unknown): Promise<Count> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (await countInThread(undefined, Buffer.from(text))).result;
}

t.test("the work of the thread that counts tokens", async (t) => {
  t.test("returns the same count as counting in place, and takes the body over", async (t) => {
    const threads = new BodyThreads(recordedLog().log, { threads: 1 });
    t.teardown(() => threads.stop());
    const module = new URL("../../../plugins/meter/count-thread.js", import.meta.url);
    const call = { id: "call", key: undefined, gone: false };
    const bytes = Buffer.from(
      JSON.stringify({ ...request, metadata: { user_id: "u".repeat(9_000) } }),
    );
    t.strictSame(await threads.run(call, module, undefined, bytes, true), COUNTED);
    t.equal(bytes.length, 0);
  });

  t.test("reports what is wrong with a body", async (t) => {
    const deep = `{"messages":[{"content":${"[".repeat(100_000)}${"]".repeat(100_000)}}]}`;
    const many = `{"messages":[${"{},".repeat(150_000)}{}]}`;
    for (const [body, param, problem] of [
      ["no json", null, /must be a JSON object/],
      ["[]", null, /must be a JSON object/],
      ["{}", "messages", /at least one/],
      ['{"messages":[]}', "messages", /at least one/],
      ['{"messages":"x"}', "messages", /at least one/],
      [deep, null, /too deeply/],
      [many, null, /too many values/],
    ] as const) {
      t.match(await count(body), { param, problem }, body.slice(0, 20));
    }
  });

  t.test("passes the name of the model on, if it is one", async (t) => {
    t.strictSame(await count(request), COUNTED);
    t.strictSame(await count({ ...request, model: "m" }), { ...COUNTED, model: "m" });
    t.strictSame(await count({ ...request, model: 5 }), COUNTED);
  });
});
