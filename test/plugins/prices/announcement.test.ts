import assert from "node:assert/strict";
import t from "tap";
import { announcementOf } from "../../../plugins/prices/announcement.ts";
import { changesBetween, type PriceEntry } from "../../../plugins/prices/changes.ts";

const entry = (model: string | null, kind: string, vnd: number, unit: PriceEntry["unit"] = "đ") => {
  return { model, kind, unit, from: null, millionths: vnd * 1e6 };
};
const tokens = (model: string, vnd: number) =>
  ["input", "cached_input", "cache_write", "output"].map((kind) => entry(model, kind, vnd));

/** Returns the paragraphs of the English text between the title and the rule of calls that run. */
function told(before: readonly PriceEntry[], after: readonly PriceEntry[]): string[] | undefined {
  const texts = announcementOf(changesBetween(before, after));
  if (texts === undefined) return undefined;
  const [vi, en] = [texts.vi, texts.en].map((text) => text.trim().split("\n\n"));
  assert.ok(vi && en);
  assert.equal(vi.length, en.length);
  assert.match(en[0] ?? "", /^Changes of prices$/);
  return en.slice(1).filter((one) => !one.startsWith("Calls that began"));
}

const NOW = "The prices of these models have just changed:";

t.test("an announcement has each price", async (t) => {
  const chat = tokens("chat", 5_000);

  t.test("of a fee or a price of a size that comes, or goes away", async (t) => {
    const fee = entry("chat", "web_search fee", 70);
    t.strictSame(told(chat, [...chat, fee]), [`${NOW}\n- chat: none → 70 đ, web_search fee`]);
    t.strictSame(told([...chat, fee], chat), [`${NOW}\n- chat: 70 đ → none, web_search fee`]);
    const image = entry("image", "per_image", 500);
    const large = entry("image", "up to 4194304 pixels", 900);
    t.strictSame(told([image], [image, large]), [
      `${NOW}\n- image: none → 900 đ, up to 4194304 pixels`,
    ]);
    const factor = entry("chat", "web_search factor", 2, "×");
    t.strictSame(told(chat, [...chat, factor]), [`${NOW}\n- chat: none → 2 ×, web_search factor`]);
  });

  t.test("of a model that is priced in another unit, as one that stays", async (t) => {
    t.strictSame(told(chat, [entry("chat", "per_call", 300)]), [
      `${NOW}\n- chat: none → 300 đ per call\n- chat: 5,000 đ → none per 1,000,000 tokens`,
    ]);
  });

  t.test("of models that come or go, with one line each", async (t) => {
    const other = [...tokens("other", 7_000), entry("other", "web_search fee", 70)];
    t.strictSame(told(chat, [...chat, ...other]), [
      "New models:\n- other: 7,000 đ per 1,000,000 tokens",
    ]);
    t.strictSame(told([...chat, ...other], chat), ["No longer on offer:\n- other"]);
  });

  t.test("of discounts and fees of no model", async (t) => {
    const discount = entry(null, "lifetime", 1, "%");
    t.strictSame(told([], [discount]), ["Discounts and fees:\n- lifetime: none → 1 %"]);
    t.strictSame(told([discount], []), ["Discounts and fees:\n- lifetime: 1 % → none"]);
  });

  t.test("and is not made if there is nothing to tell", async (t) => {
    const next = chat.map((one) => ({ ...one, from: "2099-01-01T00:00:00.000Z" }));
    t.equal(told([...chat, ...next], chat), undefined);
    t.equal(told(chat, chat), undefined);
  });
});
