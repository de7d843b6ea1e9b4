import { exactVnd, number } from "../../page-parts/browser/format.ts";
import { t } from "./text.ts";

/** The gateway's sentences about amounts: it alone knows what a bonus adds, and whose order it is. */
const SENTENCES = [
  [
    "ask.credit",
    /^Credit (?<amount>[\d,.]+) đ to (?<email>\S+), whose balance is (?<balance>[\d,.]+) đ\?$/,
  ],
  [
    "ask.take",
    /^Take (?<amount>[\d,.]+) đ from (?<email>\S+), whose balance is (?<balance>[\d,.]+) đ\?$/,
  ],
  ["ask.vouchers", /^Make (?<count>\d+) codes of (?<amount>[\d,]+) đ, (?<all>[\d,]+) đ in all\?$/],
  ["refused.only", /^The wallet has only (?<amount>[\d.]+) đ available\. /],
  ["refused.cause", /^It was only (?<amount>[\d.]+) đ in all\. /],
  ["refused.before", /^(?<amount>[\d.]+) đ of it were corrected before\. /],
] as const;

/** Returns a sentence of the gateway in the language of the page; undefined if it is another one. */
export function sentenceOf(message: string): string | undefined {
  for (const [key, pattern] of SENTENCES) {
    const given = pattern.exec(message)?.groups;
    if (given === undefined) continue;
    const { email, count, ...amounts } = given;
    const shown = Object.entries(amounts).map(([name, amount]) => [
      name,
      exactVnd(amount.replaceAll(",", "")),
    ]);
    const all = { email: email ?? "", count: number(Number(count)), ...Object.fromEntries(shown) };
    return t(key, all);
  }
  return undefined;
}
