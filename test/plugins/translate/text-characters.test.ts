import t from "tap";
import { textCharacters } from "../../../plugins/translate/text-characters.ts";

const TEXT = "four ".repeat(1_000);
const DATA = "iVBORw0K".repeat(100_000);

const request = (...content: object[]) => ({ messages: [{ role: "user", content }] });
const text = { type: "text", text: TEXT };

t.test("the size of a request is that of its text, give or take its names", async (t) => {
  const characters = textCharacters(request(text));
  t.ok(Math.abs(characters - JSON.stringify(request(text)).length) < 50);
});

t.test("an image or a document does not count as its base64 in the size", async (t) => {
  const plain = textCharacters(request(text));
  const sources = [
    { type: "base64", media_type: "image/png", data: DATA },
    { type: "url", url: `data:image/png;base64,${DATA}` },
  ];
  for (const type of ["image", "document"]) {
    for (const source of sources) {
      t.ok(textCharacters(request(text, { type, source })) - plain < 100, `${type} ${source.type}`);
    }
  }
});

t.test("text in a field with the name `data` counts", async (t) => {
  const source = { type: "text", media_type: "text/plain", data: TEXT };
  t.ok(textCharacters(request({ type: "document", source })) > TEXT.length);
  const input = { data: TEXT, url: "https://example.com" };
  t.ok(textCharacters(request({ type: "tool_use", input })) > TEXT.length);
});
