import { vietnamTime } from "../page-parts/vietnam-time.ts";
import { type PriceChange, percentOf } from "./changes.ts";

/** A text for customers in both languages, for an operator to edit. */
interface Announcement {
  readonly vi: string;
  readonly en: string;
}

const BASE_KINDS = new Set(["tokens", "input", "per_call", "per_image"]);

interface Words {
  readonly locale: string;
  readonly title: string;
  now: string;
  from(time: string, day: string): string;
  readonly none: string;
  readonly added: string;
  readonly gone: string;
  readonly discounts: string;
  readonly rule: string;
  readonly kinds: Readonly<Record<string, string>>;
}

const VI: Words = {
  locale: "vi-VN",
  title: "Thay đổi giá",
  now: "Giá của các mô hình sau vừa thay đổi:",
  from: (time, day) =>
    `Từ ${time} ngày ${day} (giờ Việt Nam), giá của các mô hình sau thay đổi như sau:`,
  none: "không có",
  added: "Mô hình mới:",
  gone: "Không còn cung cấp:",
  discounts: "Ưu đãi và phụ phí:",
  rule: "Lượt gọi đã bắt đầu trước thời điểm thay đổi vẫn được tính theo giá cũ.",
  kinds: {
    tokens: "/ 1.000.000 token",
    input: "/ 1.000.000 token đầu vào",
    cached_input: "/ 1.000.000 token đầu vào đọc từ bộ nhớ đệm",
    cache_write: "/ 1.000.000 token ghi vào bộ nhớ đệm",
    output: "/ 1.000.000 token đầu ra",
    per_call: "/ lượt gọi",
    per_image: "/ ảnh",
  },
};

const EN: Words = {
  locale: "en-US",
  title: "Changes of prices",
  now: "The prices of these models have just changed:",
  from: (time, day) => `From ${time} on ${day} (time of Vietnam), these models have new prices:`,
  none: "none",
  added: "New models:",
  gone: "No longer on offer:",
  discounts: "Discounts and fees:",
  rule: "Calls that began before the change keep the price before it.",
  kinds: {
    tokens: "per 1,000,000 tokens",
    input: "per 1,000,000 input tokens",
    cached_input: "per 1,000,000 input tokens read from the cache",
    cache_write: "per 1,000,000 tokens written to the cache",
    output: "per 1,000,000 output tokens",
    per_call: "per call",
    per_image: "per image",
  },
};

/** Drafts what customers should know of changes; undefined if there is nothing to tell them. */
export function announcementOf(changes: readonly PriceChange[]): Announcement | undefined {
  const [vi, en] = [draft(changes, VI), draft(changes, EN)];
  return vi === undefined || en === undefined ? undefined : { vi, en };
}

function draft(changes: readonly PriceChange[], words: Words): string | undefined {
  const ofModels = changes.filter(({ model, change }) => model !== null && change !== "withdrawn");
  const [added, gone] = [modelsWith("new", ofModels), modelsWith("gone", ofModels)];
  // A model with a new price in another unit is neither.
  const is = (one: PriceChange, models: ReadonlySet<string | null>, others: typeof models) =>
    models.has(one.model) && !others.has(one.model);
  const isAdded = (one: PriceChange) => one.change === "new" && is(one, added, gone);
  const isGone = (one: PriceChange) => one.change === "gone" && is(one, gone, added);
  const priced = ofModels.filter((one) => !isAdded(one) && !isGone(one));
  const dates = [...new Set(priced.map(({ takesEffect }) => takesEffect))].sort();
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [[title, ...lines.map((line) => `- ${line}`)].join("\n")];
  const paragraphs = [
    words.title,
    ...dates.flatMap((date) => {
      const own = priced.filter(({ takesEffect }) => takesEffect === date);
      return list(
        dateLine(date, words),
        own.map((one) => lineOf(one, words)),
      );
    }),
    ...list(
      words.added,
      ofModels
        .filter((one) => isAdded(one) && BASE_KINDS.has(one.kind))
        .map((one) => lineOf(one, words, [one.after])),
    ),
    ...list(words.gone, [...new Set(ofModels.filter(isGone).map(({ model }) => String(model)))]),
    ...list(
      words.discounts,
      changes.filter(({ model }) => model === null).map((one) => lineOf(one, words)),
    ),
    ...(priced.length > 0 ? [words.rule] : []),
  ];
  return paragraphs.length === 1 ? undefined : `${paragraphs.join("\n\n")}\n`;
}

/** Returns the models whose main price is new or gone, not only that of a part, such as an option. */
function modelsWith(change: "new" | "gone", changes: readonly PriceChange[]) {
  const main = changes.filter((one) => one.change === change && BASE_KINDS.has(one.kind));
  return new Set(main.map(({ model }) => model));
}

function dateLine(date: string | null, words: Words): string {
  if (date === null) return words.now;
  const [day = "", time = ""] = vietnamTime(new Date(date)).split(" ");
  const [year, month, dayOfMonth] = day.split("-");
  return words.from(time.slice(0, 5), `${dayOfMonth}/${month}/${year}`);
}

function lineOf(
  change: PriceChange,
  { kinds, locale, none }: Words,
  shown = [change.before, change.after],
): string {
  const { model, kind, unit } = change;
  const amount = (millionths: number | null) =>
    millionths === null
      ? none
      : `${(millionths / 1e6).toLocaleString(locale, { maximumFractionDigits: 6 })} ${unit}`;
  const percent = percentOf(change);
  const sign = percent !== null && percent > 0 ? "+" : "";
  const share =
    percent === null || unit !== "đ" ? "" : ` (${sign}${percent.toLocaleString(locale)} %)`;
  const what = kinds[kind];
  const name = model ?? kind;
  return `${name}: ${shown.map(amount).join(" → ")}${what ? ` ${what}` : model ? `, ${kind}` : ""}${share}`;
}
