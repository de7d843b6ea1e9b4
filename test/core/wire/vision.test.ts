import t from "tap";
import { imageFault } from "../../../core/wire/vision.ts";

const PNG = "iVBORw0KGgo=";
const LONG = "A".repeat(100_000);

const block = (data: unknown) => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});
const part = (url: string) => ({ type: "image_url", image_url: { url } });

t.test("an image is looked at without being decoded", async (t) => {
  const table: [string, object, string | undefined][] = [
    ["base64", block(PNG), undefined],
    ["base64 without padding", block("iVBORw0KGgo"), undefined],
    ["base64 with line breaks", block("iVBO\r\nRw0KGgo=\n"), undefined],
    ["base64 for URLs", block("-_-_"), undefined],
    ["much base64", block(`${LONG}==`), undefined],
    ["no base64", block("@@@"), "broken"],
    ["words", block("not an image"), "broken"],
    ["padding in the middle", block("iVBO=Rw0K"), "broken"],
    ["no text", block(7), "broken"],
    ["nothing", block(undefined), "broken"],
    ["a data URL as data", block(`data:image/png;base64,${PNG}`), "broken"],
    ["a fault at the start of much", block(`@${LONG}`), "broken"],
    ["padding at the start of much", block(`AA==${LONG}`), "broken"],
    ["a fault at the end of much", block(`${LONG}@`), "broken"],
    ["a data URL", part(`data:image/png;base64,${PNG}`), undefined],
    ["a data URL with parameters", part(`data:image/png;a=b;base64,${PNG}`), undefined],
    [
      "a data URL with percent-encoded base64",
      part("data:image/png;base64,iVBORw0KGgo%3D"),
      undefined,
    ],
    ["a long one", part(`data:image/png;base64,${"%2B".repeat(5_000)}`), undefined],
    ["a data URL without base64", part("data:image/png,%89PNG"), undefined],
    ["a data URL with other data", part("data:image/png;base64,@@@"), "broken"],
    ["an address", part("https://images.example/@@@.png"), undefined],
    ["a format that no model reads", part("data:image/bmp;base64,@@@"), "unreadable"],
  ];
  for (const [what, image, expected] of table) {
    const turn = { role: "user", content: [{ type: "text", text: "look" }, image] };
    t.equal(imageFault({ messages: [turn] }, "messages"), expected, what);
  }
  const result = { type: "tool_result", tool_use_id: "t", content: [block("@@@")] };
  const turn = { role: "user", content: [result] };
  t.equal(imageFault({ messages: [turn] }, "messages"), "broken", "in a tool's result");
});
