import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDirective } from "../../../plugins/simulator/directive.ts";
import {
  type DirectivePlaces,
  findDirective,
  withoutMarkers,
} from "../../../plugins/simulator/find-directive.ts";
import { messages } from "../../../plugins/simulator/messages.ts";
import { responses } from "../../../plugins/simulator/responses.ts";
import { countTokens, cutToTokens, fillerText, pieces } from "../../../plugins/simulator/text.ts";

const places: DirectivePlaces = { model: "m", key: "k", header: "", prompt: "" };
const find = (some: Partial<DirectivePlaces>) => findDirective({ ...places, ...some });

describe("a directive", () => {
  it("is read from the model, the key, the header and the prompt, the later winning", () => {
    assert.deepEqual(find({ model: "sim-echo" }), { echo: true });
    assert.deepEqual(find({ model: "sim-hang" }), { hang: true });
    assert.deepEqual(find({ model: "sim-status-429" }), { status: 429 });
    assert.deepEqual(find({ model: "sim-tokens-50" }), { output_tokens: 50 });
    assert.deepEqual(find({ model: "sim-other" }), {});
    assert.deepEqual(find({ key: 'sim:{"status":503}' }), { status: 503 });
    const all = {
      model: "sim-tokens-1",
      key: 'sim:{"output_tokens":2,"delay_ms":2}',
      header: '{"output_tokens":3,"text":"header"}',
      prompt: '[[sim {"output_tokens":4}]]',
    };
    assert.deepEqual(find(all), { output_tokens: 4, delay_ms: 2, text: "header" });
  });

  it("may hold the closing brackets itself, and of two markers the last counts", () => {
    const prompt =
      '[[sim {"text":"a"}]] b [[sim {"tools":[{"name":"f","arguments":{"x":[[1]],"y":"}]]"}}]}]] c';
    assert.deepEqual(find({ prompt }), {
      tools: [{ name: "f", arguments: { x: [[1]], y: "}]]" } }],
    });
    assert.equal(withoutMarkers(prompt), "b  c");
  });

  it("is refused with the field that is wrong", () => {
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
      assert.equal(typeof refused, "string");
      assert.match(String(refused), message);
    }
    assert.match(String(find({ prompt: "[[sim {delay_ms:1}]]" })), /not JSON/);
    assert.match(String(find({ header: "{" })), /not JSON/);
  });
});

describe("the prompt", () => {
  const prompt = (turns: object[]) => {
    const ask = messages.read({ model: "m", max_tokens: 1, messages: turns });
    return "prompt" in ask ? ask.prompt : ask.problem;
  };
  const user = { role: "user", content: "one" };
  const assistant = { role: "assistant", content: "two" };

  it("is what came after the last assistant turn, so that a marker works once", () => {
    const result = {
      type: "tool_result",
      tool_use_id: "t",
      content: [{ type: "text", text: "ok" }],
    };
    assert.equal(prompt([user]), "one");
    assert.equal(prompt([user, assistant, { role: "user", content: [result] }]), "ok");
    assert.equal(prompt([user, { role: "system", content: "no" }, user]), "one\none");
  });

  it("is before the prefill when the last turn is the assistant's", () => {
    assert.equal(prompt([user, assistant]), "one");
  });

  it("passes over function calls and reasoning of the Responses protocol", () => {
    const input = [
      { role: "user", content: "one" },
      { type: "reasoning", summary: [] },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "done" },
    ];
    const ask = responses.read({ model: "m", input });
    assert.equal("prompt" in ask && ask.prompt, "done");
  });
});

describe("the simulator's tokens", () => {
  it("are four bytes each, and filler has exactly as many as asked", () => {
    assert.deepEqual(["", "a", "abcd", "abcde", "đđ", "🌏🌏"].map(countTokens), [0, 1, 1, 2, 1, 2]);
    for (const n of [0, 1, 7, 1_000]) assert.equal(fillerText(42, n).length, n * 4);
    assert.equal(fillerText(1, 50), fillerText(1, 50));
    assert.notEqual(fillerText(1, 50), fillerText(2, 50));
  });

  it("are cut between characters", () => {
    assert.equal(cutToTokens("abcdefgh", 1), "abcd");
    assert.equal(cutToTokens("aaađb", 1), "aaa");
    assert.equal(cutToTokens("🌏🌏", 1), "🌏");
    for (const parts of [1, 2, 3, 5, 100]) {
      const cut = pieces("ab🌏🌏🌏cd", parts);
      assert.equal(cut.join(""), "ab🌏🌏🌏cd");
      assert.ok(cut.every((piece) => Buffer.from(piece).toString() === piece));
    }
  });
});
