import t from "tap";
import { tokensOfRequest, tokensOfText } from "../../../plugins/meter/tokenize.ts";

const asked = (content: unknown) => tokensOfRequest({ messages: [{ role: "user", content }] });
const EMPTY = asked("");

t.test("tokens of a request", async (t) => {
  t.test("are the same for a string and for a text part", async (t) => {
    t.equal(asked([{ type: "text", text: "Xin chào 🌏" }]), asked("Xin chào 🌏"));
  });

  t.test("count a tokenizer's special tokens as plain text", async (t) => {
    t.ok(tokensOfText("<|endoftext|><|im_start|>") > 4);
  });

  t.test("include everything a block can hold: results, inputs, thinking, documents", async (t) => {
    const words = "one two three four five six seven";
    const text = tokensOfText(words);
    for (const block of [
      { type: "text", text: words },
      { type: "thinking", thinking: words, signature: "x".repeat(10_000) },
      { type: "tool_result", tool_use_id: "t", content: words },
      { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: words }] },
      { type: "document", source: { type: "text", data: words } },
      { type: "document", source: { type: "content", content: [{ type: "text", text: words }] } },
    ]) {
      t.equal(asked([block]) - EMPTY, text, JSON.stringify(block).slice(0, 100));
    }
    const call = { type: "tool_use", id: "t", name: "run", input: { words } };
    t.ok(asked([call]) - EMPTY > text);
  });

  t.test(
    "count an image by its usual size and a document by its length, not by its base64",
    async (t) => {
      const data = "A".repeat(400_000);
      const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
      t.equal(asked([image]) - EMPTY, 1_200);
      const pdf = {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data },
      };
      t.equal(asked([pdf]) - EMPTY, 10_000);
    },
  );

  t.test("beyond a million bytes are extrapolated from the rate of those before", async (t) => {
    for (const sentence of [
      "The toll road was older than the town. ",
      "Con đường ấy có trước cả làng. ",
    ]) {
      const times = Math.ceil(3_000_000 / Buffer.byteLength(sentence));
      const exact = (times * tokensOfText(sentence.repeat(100))) / 100;
      const count = asked(sentence.repeat(times));
      t.ok(Math.abs(count / exact - 1) < 0.01, `${count} for ${exact}`);
    }
  });

  t.test("are the same for a text counted in chunks and in one piece", async (t) => {
    const words = "lúa nếp cái hoa vàng ".repeat(400);
    const inPieces = words.match(/.{21}/g) ?? [];
    const sum = inPieces.reduce((total, piece) => total + tokensOfText(piece), 0);
    t.ok(Math.abs(tokensOfText(words) / sum - 1) < 0.2);
    t.equal(tokensOfText("a".repeat(2_000)) * 5, tokensOfText("a".repeat(10_000)));
  });
});
