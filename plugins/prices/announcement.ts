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
  if (changes.every(({ change }) => change === "withdrawn")) return undefined;
  return { vi: draft(changes, VI), en: draft(changes, EN) };
}

function draft(changes: readonly PriceChange[], words: Words): string {
  const ofModels = changes.filter(({ model }) => model !== null);
  const priced = ofModels.filter(({ change }) => change === "changed" || change === "announced");
  const dates = [...new Set(priced.map(({ takesEffect }) => takesEffect))].sort();
  const named = (change: PriceChange["change"]) => [
    ...new Set(ofModels.filter((one) => one.change === change).map(({ model }) => String(model))),
  ];
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
        .filter(({ change, kind }) => change === "new" && BASE_KINDS.has(kind))
        .map((one) => lineOf(one, words)),
    ),
    ...list(
      words.gone,
      named("gone").filter((id) => !stays(id, changes)),
    ),
    ...list(
      words.discounts,
      changes.filter(({ model }) => model === null).map((one) => lineOf(one, words)),
    ),
    ...(priced.length > 0 ? [words.rule] : []),
  ];
  return `${paragraphs.join("\n\n")}\n`;
}

/** True if only a part of a model is gone, such as the price of an option. */
function stays(id: string, changes: readonly PriceChange[]): boolean {
  return !changes.some(
    (one) => one.model === id && one.change === "gone" && BASE_KINDS.has(one.kind),
  );
}

function dateLine(date: string | null, words: Words): string {
  if (date === null) return words.now;
  const [day = "", time = ""] = vietnamTime(new Date(date)).split(" ");
  const [year, month, dayOfMonth] = day.split("-");
  return words.from(time.slice(0, 5), `${dayOfMonth}/${month}/${year}`);
}

function lineOf(change: PriceChange, { kinds, locale }: Words): string {
  const { model, kind, unit, before, after } = change;
  const amount = (millionths: number) =>
    `${(millionths / 1e6).toLocaleString(locale, { maximumFractionDigits: 6 })} ${unit}`;
  const percent = percentOf(change);
  const sign = percent !== null && percent > 0 ? "+" : "";
  const share =
    percent === null || unit !== "đ" ? "" : ` (${sign}${percent.toLocaleString(locale)} %)`;
  const amounts = [before, after].filter((one) => one !== null).map(amount);
  const what = kinds[kind];
  const name = model ?? kind;
  return `${name}: ${amounts.join(" → ")}${what ? ` ${what}` : model ? `, ${kind}` : ""}${share}`;
}
