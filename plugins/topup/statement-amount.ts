import { MICRO_VND_PER_VND } from "../../core/plugin/index.ts";

type Mark = "." | ",";

/** An amount in µđ with its sign; `explicit` if the text has one. Or why the text is none. */
type Amount =
  | { readonly microVnd: bigint; readonly isSigned: boolean }
  | { readonly problem: string };

const AMOUNT_MAX_MICRO_VND = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Returns the decimal mark with which the amounts of a file are written, as far as they say: 1.000.000 and 1,5 have a
 * comma, 1,000,000 and 1.50 a point. Returns undefined if none of them says, and null if they contradict.
 */
export function decimalMarkOf(texts: readonly string[]): Mark | undefined | null {
  const marks = new Set(
    texts.map((text) => markIn(bare(text))).filter((mark) => mark !== undefined),
  );
  if (marks.size > 1) return null;
  return [...marks][0];
}

/**
 * Reads an amount of a file whose amounts have this decimal mark. Banks transfer whole đ alone. An empty text is 0. If
 * the file does not say what its mark is, an amount such as 100.000 is refused: it can be 100000 đ or 100 đ.
 */
export function readAmount(text: string, mark: Mark | undefined): Amount {
  const plain = bare(text);
  if (/^[+-]?$/.test(plain)) return { microVnd: 0n, isSigned: false };
  const [, sign = "", digits = ""] = /^([+-]?)(.*)$/s.exec(plain) ?? [];
  if (mark === undefined && /[.,]/.test(digits)) {
    const grouped = digits.replace(/[.,]/, "");
    const whole = digits.split(/[.,]/)[0];
    return { problem: `${text} can be read as ${grouped} đ and as ${whole} đ; write ${grouped}` };
  }
  const [whole = "", fraction = "", ...more] = mark === undefined ? [digits] : digits.split(mark);
  const groups = mark === undefined ? whole : whole.replaceAll(mark === "." ? "," : ".", "");
  const isGrouped = groups === whole || /^\d{1,3}(?:[.,]\d{3})+$/.test(whole);
  if (
    !/^\d{0,15}$/.test(groups) ||
    groups + fraction === "" ||
    !isGrouped ||
    more.length > 0 ||
    !/^\d*$/.test(fraction)
  ) {
    return { problem: `${JSON.stringify(text)} is no amount` };
  }
  if (/[1-9]/.test(fraction)) return { problem: `${text} is no whole number of đ` };
  const microVnd = BigInt(groups) * BigInt(MICRO_VND_PER_VND);
  if (microVnd > AMOUNT_MAX_MICRO_VND) return { problem: `${text} đ is more than a wallet holds` };
  return { microVnd: sign === "-" ? -microVnd : microVnd, isSigned: sign !== "" };
}

/** Returns the text without its currency and spaces. */
function bare(text: string): string {
  return text.replace(/VND|VNĐ|đ|₫/gi, "").replace(/[\s\u00a0\u202f']/g, "");
}

function markIn(text: string): Mark | undefined {
  const marks = text.match(/[.,]/g) ?? [];
  const last = marks.at(-1) as Mark | undefined;
  if (last === undefined) return undefined;
  const other = last === "." ? "," : ".";
  if (new Set(marks).size > 1) return last;
  if (marks.length > 1) return other;
  const [before = "", after = ""] = text.replace(/^[+-]/, "").split(last);
  const isGroup = after.length === 3 && /^[1-9]\d{0,2}$/.test(before);
  return isGroup ? undefined : last;
}
