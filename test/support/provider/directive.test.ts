import t from "tap";
import { countTokens, cutToTokens, pieces } from "../../../plugins/simulator/text.ts";
import { parseDirective } from "./directive.ts";
import { type DirectivePlaces, findDirective, withoutMarkers } from "./find-directive.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";
import { fillerText } from "./text.ts";

const places: DirectivePlaces = { model: "m", key: "k", header: "", prompt: "" };
const find = (some: Partial<DirectivePlaces>) => findDirective({ ...places, ...some });

t.test("a directive", async (t) => {
  t.test(
    "is read from the model, the key, the header and the prompt; the later wins",
    async (t) => {
      t.strictSame(find({ model: "sim-echo" }), { echo: true });
      t.strictSame(find({ model: "sim-hang" }), { hang: true });
      t.strictSame(find({ model: "sim-status-429" }), { status: 429 });
      t.strictSame(find({ model: "sim-tokens-50" }), { output_tokens: 50 });
      t.strictSame(find({ model: "sim-other" }), {});
      t.strictSame(find({ key: 'sim:{"status":503}' }), { status: 503 });
      const all = {
        model: "sim-tokens-1",
        key: 'sim:{"output_tokens":2,"delay_ms":2}',
        header: '{"output_tokens":3,"text":"header"}',
        prompt: '[[sim {"output_tokens":4}]]',
      };
      t.strictSame(find(all), { output_tokens: 4, delay_ms: 2, text: "header" });
    },
  );

  t.test(
    "may itself contain the closing brackets, and the last of two markers counts",
    async (t) => {
      const prompt =
        '[[sim {"text":"a"}]] b [[sim {"tools":[{"name":"f","arguments":{"x":[[1]],"y":"}]]"}}]}]] c';
      t.strictSame(find({ prompt }), {
        tools: [{ name: "f", arguments: { x: [[1]], y: "}]]" } }],
      });
      t.equal(withoutMarkers(prompt), "b  c");
    },
  );

  t.test("is refused with the name of the wrong field", async (t) => {
    const wrong = [
      [{ delay_ms: -1 }, /delay_ms/],
      [{ status: 200 }, /status/],
      [{ tools: [{ arguments: {} }] }, /tools\.0\.name/],
      [{ usage: "some" }, /usage/],
      [{ outputtokens: 1 }, /outputtokens/],
      ["text", /its root/],
    ] as const;
    for (const [json, message] of wrong) {
      const refused = parseDirective(json);
      t.equal(typeof refused, "string");
      t.match(String(refused), message);
    }
    t.match(String(find({ prompt: "[[sim {delay_ms:1}]]" })), /not JSON/);
    t.match(String(find({ header: "{" })), /not JSON/);
  });
});

t.test("the prompt", async (t) => {
  const prompt = (turns: object[]) => {
    const ask = messages.read({ model: "m", max_tokens: 1, messages: turns });
    return "prompt" in ask ? ask.prompt : ask.problem;
  };
  const user = { role: "user", content: "one" };
  const assistant = { role: "assistant", content: "two" };

  t.test("is the text after the last assistant turn, so that a marker works once", async (t) => {
    const result = {
      type: "tool_result",
      tool_use_id: "t",
      content: [{ type: "text", text: "ok" }],
    };
    t.equal(prompt([user]), "one");
    t.equal(prompt([user, assistant, { role: "user", content: [result] }]), "ok");
    t.equal(prompt([user, { role: "system", content: "no" }, user]), "one\none");
  });

  t.test("is the text before the prefill if the last turn is the assistant's", async (t) => {
    t.equal(prompt([user, assistant]), "one");
  });

  t.test("skips function calls and reasoning of the Responses protocol", async (t) => {
    const input = [
      { role: "user", content: "one" },
      { type: "reasoning", summary: [] },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "done" },
    ];
    const ask = responses.read({ model: "m", input });
    t.equal("prompt" in ask && ask.prompt, "done");
  });
});

t.test("the simulator's tokens", async (t) => {
  t.test("are four bytes each, and filler has exactly the requested number", async (t) => {
    t.strictSame(["", "a", "abcd", "abcde", "đđ", "🌏🌏"].map(countTokens), [0, 1, 1, 2, 1, 2]);
    for (const n of [0, 1, 7, 1_000]) t.equal(fillerText(42, n).length, n * 4);
    t.equal(fillerText(1, 50), fillerText(1, 50));
    t.not(fillerText(1, 50), fillerText(2, 50));
  });

  t.test("are split between characters", async (t) => {
    t.equal(cutToTokens("abcdefgh", 1), "abcd");
    t.equal(cutToTokens("aaađb", 1), "aaa");
    t.equal(cutToTokens("🌏🌏", 1), "🌏");
    for (const parts of [1, 2, 3, 5, 100]) {
      const cut = pieces("ab🌏🌏🌏cd", parts);
      t.equal(cut.join(""), "ab🌏🌏🌏cd");
      t.ok(cut.every((piece) => Buffer.from(piece).toString() === piece));
    }
  });
});
