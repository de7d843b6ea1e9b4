import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import t from "tap";
import { countedInput, tokensOfText } from "../../../plugins/meter/tokenize.ts";

const input = (content: unknown) => countedInput({ messages: [{ role: "user", content }] });
const asked = (content: unknown) => input(content).textTokens;
const EMPTY = asked("");

t.test("tokens of a request", async (t) => {
  t.test("are the same for a string and for a text part", async (t) => {
    t.equal(asked([{ type: "text", text: "Xin chào 🌏" }]), asked("Xin chào 🌏"));
  });

  t.test("include the system prompt, as a string or in parts", async (t) => {
    const messages = [{ role: "user", content: "" }];
    for (const system of ["one two three", [{ type: "text", text: "one two three" }]]) {
      t.equal(countedInput({ system, messages }).textTokens - EMPTY, tokensOfText("one two three"));
    }
  });

  t.test("count a tokenizer's special tokens as plain text", async (t) => {
    t.ok(tokensOfText("<|endoftext|><|im_start|>") > 4);
  });

  t.test("include everything a block can hold: results, inputs, thinking, documents", async (t) => {
    const words = "one two three four five six seven";
    const text = tokensOfText(words);
    for (const block of [
      { type: "text", text: words },
      { type: "thinking", thinking: words, signature: "x".repeat(12) },
      { type: "tool_result", tool_use_id: "t", content: words },
      { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: words }] },
      { type: "document", source: { type: "text", data: words } },
      { type: "document", source: { type: "content", content: [{ type: "text", text: words }] } },
    ]) {
      t.equal(asked([block]) - EMPTY, text, JSON.stringify(block).slice(0, 100));
    }
    const call = { type: "tool_use", id: "t", name: "run", input: { words } };
    t.ok(asked([call]) - EMPTY > text);
    const named = { type: "tool_use", id: "t", name: words, input: {} };
    t.equal(asked([named]) - EMPTY, text + tokensOfText("{}"));
  });

  t.test("leave files to the model, and never read their base64 as text", async (t) => {
    const data = "A".repeat(400_000);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    t.match(input([image]), { textTokens: EMPTY, images: [undefined] });
    const source = { type: "base64", media_type: "application/pdf", data };
    // Its pages cannot be counted.
    t.match(input([{ type: "document", source }]), { textTokens: EMPTY, documentBytes: 400_000 });
    const office = {
      type: "base64",
      media_type: "application/msword",
      data: `UEsD${"A".repeat(96)}`,
    };
    t.match(input([{ type: "document", source: office }]), { documentBytes: 100 });
    const text = { type: "base64", media_type: "text/plain", data: btoa("one two three") };
    t.equal(asked([{ type: "document", source: text }]) - EMPTY, tokensOfText("one two three"));
  });

  t.test("include the title and the context of a document, whatever its source", async (t) => {
    const named = { title: "one two three", context: "four five six seven" };
    const more = tokensOfText(named.title) + tokensOfText(named.context);
    const data = btoa("eight nine ten");
    for (const source of [
      { type: "text", data: "eight nine ten" },
      { type: "base64", media_type: "text/plain", data },
      { type: "url", url: "https://a/b.pdf" },
    ]) {
      const bare = { type: "document", source };
      t.equal(asked([{ ...bare, ...named }]) - asked([bare]), more, source.type);
    }
  });

  t.test("count hidden thinking by its signature", async (t) => {
    const hidden = { type: "thinking", thinking: "", signature: "x".repeat(600) };
    t.equal(asked([hidden]) - EMPTY, 100);
    t.equal(asked([{ type: "redacted_thinking", data: "x".repeat(600) }]) - EMPTY, 100);
  });

  t.test("keep thinking before the last message of the user apart", async (t) => {
    const thought = { type: "thinking", thinking: "one two three four", signature: "x" };
    const earlier = { role: "assistant", content: [thought, { type: "text", text: "a" }] };
    const use = { type: "tool_use", id: "t", name: "f", input: {} };
    const running = { role: "assistant", content: [thought, use] };
    const user = { role: "user", content: "b" };
    const results = { role: "user", content: [{ type: "tool_result", tool_use_id: "t" }] };
    const counted = countedInput({ messages: [user, earlier, user, running, results] });
    t.equal(counted.earlierThinkingTokens, tokensOfText("one two three four"));
    const bare = countedInput({
      messages: [user, { ...earlier, content: "a" }, user, running, results],
    });
    t.equal(counted.textTokens, bare.textTokens);
  });

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

t.test("a long text counts as it does whole: it is cut between words", async (t) => {
  const words = "tollgate ".repeat(1_000);
  t.equal(tokensOfText(words), countTokens(words));
});

t.test("documents add up; one by address or id is a page", async (t) => {
  const of = (source: object) => ({ type: "document", source });
  const pdf = (pages: number) => {
    const data = Buffer.from(`%PDF\n${"<</Type /Page>>\n".repeat(pages)}`).toString("base64");
    return of({ type: "base64", media_type: "application/pdf", data });
  };
  const bytes = (pages: number) => pdf(pages).source as { data: string };
  t.match(input([pdf(2), pdf(3)]), {
    pages: 5,
    pdfBytes: bytes(2).data.length + bytes(3).data.length,
    documentBytes: 0,
  });
  const unknown = { type: "base64", media_type: "application/pdf", data: "AAAAAAAA" };
  t.match(input([of(unknown), of(unknown)]), { pages: 0, pdfBytes: 0, documentBytes: 16 });
  const zip = { type: "base64", media_type: "application/zip", data: "UEsDAAAA" };
  const video = { type: "base64", media_type: "video/mp4", data: "AAAA" };
  t.match(input([of(zip), of(zip), of(video), of(video)]), { pages: 0, documentBytes: 24 });
  t.equal(input([of({ type: "file", file_id: "f" })]).pages, 1);
  t.equal(input([of({ type: "url", url: "https://a/b" })]).pages, 1);
  t.equal(input([of({ type: "text", data: "a" })]).pages, 0);
  t.strictSame(input([{ type: "image", source: { type: "file", file_id: "f" } }]).images, [
    undefined,
  ]);
});

t.test("a request is 3 tokens, each turn 4, and each tool 10, besides their texts", async (t) => {
  const turn = { role: "user", content: "" };
  t.equal(countedInput({ messages: [turn] }).textTokens, 7);
  t.equal(countedInput({ messages: [turn, turn] }).textTokens, 11);
  const tool = { name: "look" };
  const tools = countedInput({ messages: [turn], tools: [tool, tool] }).textTokens;
  t.equal(tools, 7 + 2 * (10 + countTokens(JSON.stringify(tool))));
});

t.test("structured output has a schema, by either name of its field", async (t) => {
  const messages = [{ role: "user", content: "" }];
  const format = { type: "json_schema", schema: {} };
  const table: [body: object, hasSchema: boolean][] = [
    [{ output_config: { format } }, true],
    [{ output_format: format }, true],
    [{ output_config: { effort: "low" } }, false],
    [{}, false],
  ];
  for (const [body, hasSchema] of table) {
    t.equal(countedInput({ messages, ...body }).hasSchema, hasSchema, JSON.stringify(body));
  }
});
