import { extname } from "node:path";

/** A way of writing that slows readers down, and what to write instead. */
interface Banned {
  readonly words: RegExp;
  readonly instead: string;
  /** Comments only: the word has another use in texts and in SQL. */
  readonly inComments?: true;
}

/** A place can be pointed at: "the line where", "shows where". A condition takes "if". */
const PLACE =
  "(?<!\\b(?:from|the (?:place|folder|file|point|line|position|byte|row|room|moment|address)|" +
  "places?|says?|shows?|knows?|see|of|no matter|exactly|is|and|decides?|remembers?|marks?)\\s+)";

export const BANNED: readonly Banned[] = [
  {
    words: new RegExp(`${PLACE}\\bwhere\\b`, "i"),
    instead: '"if" or "when" for a condition, "in which" or "whose" for a thing',
    inComments: true,
  },
  {
    words: /\banswers\b(?! (?:of|to|from|in)\b)/i,
    instead: '"returns" for a function, "replies" for a server',
    inComments: true,
  },
  { words: /\b(?:whoever|whomever|whatever comes)\b/i, instead: "the one who acts" },
  { words: /\b(?:nobody|somebody|anybody|everybody)\b/i, instead: "the one who acts" },
  {
    words:
      /\b(?:is|are|was|were|be|been|not|never|gets?) told\b|\btold of\b|\btells of\b|\buntold\b/i,
    instead: '"sent", "reported", "acknowledged" or "applied"',
  },
  { words: /\banew\b/i, instead: '"again"' },
  { words: /\bmeanwhile\b/i, instead: '"until then", "since", or nothing' },
  { words: /\bin place of\b/i, instead: '"instead of"' },
  { words: /\bfor ever\b/i, instead: '"forever", or the limit as a number' },
  { words: /\b(?:lest|thereby|whence|thence|wherein|whereof)\b/i, instead: "a plain sentence" },
  { words: /\b(?:vouch(?:ed)?|is not to be had|not to be had)\b/i, instead: "the fact itself" },
  {
    words: /\b(?:is|are|was|were|be|been|stays?) away\b/i,
    instead: '"down", "unavailable" or "unreachable"',
  },
  {
    words: /\bhears? (?:of|no|nothing|from)\b|\bheard of\b/i,
    instead: '"gets", "receives" or "ignores"',
  },
  { words: /\bwhat is there\b/i, instead: "the thing by its name" },
  { words: /\bnone of (?:the client|its|their) business\b/i, instead: "what happens instead" },
  { words: /\bround and about\b/i, instead: '"about"' },
  { words: /\ball the same\b(?! \w)/i, instead: '"still"' },
  {
    words: /(?<!\bmay or )\bmay not\b(?! be enabled when)/i,
    instead: '"must not", or "perhaps not": it can be read as either',
  },
  {
    words: /^Most (?!.{0,60}\b(?:are|is|have|has)\b)(?:\w+ ){1,4}(?:at|for|in|of|per|that)\b/,
    instead: '"Maximum", or "Maximum number of"',
  },
  { words: /^What (?!happens\b)/, instead: "the noun for it", inComments: true },
  { words: /\w [<>]=? [\w.+* ]+, or /, instead: '"; otherwise" before what goes wrong' },
];

/** A comment or a text, and the line that it begins at. */
export interface Passage {
  readonly line: number;
  readonly text: string;
  readonly kind: "comment" | "text";
}

/** Returns the complaints about one file, one line for each passage. */
export function complaints(file: string, source: string): string[] {
  const found: string[] = [];
  for (const { line, text, kind } of passagesOf(file, source)) {
    for (const { words, instead, inComments } of BANNED) {
      if (inComments && kind !== "comment") continue;
      const match = words.exec(text);
      if (match) found.push(`${file}:${line}: not "${match[0]}": write ${instead}`);
    }
  }
  return found;
}

export function passagesOf(file: string, source: string): Passage[] {
  switch (extname(file)) {
    case ".ts":
    case ".js":
    case ".css":
      return passagesOfCode(source);
    case ".lua":
    case ".sql":
      return lineComments(source, /--(.*)$/);
    case ".yaml":
      return lineComments(source, /(?:^|\s)#(.*)$/);
    case ".md":
      return paragraphs(source);
    default:
      return [];
  }
}

/** Neighbouring comment lines are one passage, so that a phrase may break across lines. */
function lineComments(source: string, comment: RegExp): Passage[] {
  const passages: Passage[] = [];
  let words: string[] = [];
  let from = 0;
  const rows = [...source.split("\n"), ""];
  rows.forEach((row, at) => {
    const found = comment.exec(row)?.[1];
    if (found !== undefined) {
      if (words.length === 0) from = at + 1;
      words.push(found.trim());
    } else if (words.length > 0) {
      passages.push({ line: from, text: words.join(" "), kind: "comment" });
      words = [];
    }
  });
  return passages;
}

/** A comment, a string, a template or a regular expression, whichever begins first. */
const TOKEN =
  /(\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+|\/\/.*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`)|(?<=[(,=:[!&|?{};\n]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/gm;

function passagesOfCode(source: string): Passage[] {
  const passages: Passage[] = [];
  let line = 1;
  let counted = 0;
  for (const { 0: whole, 1: comment, 2: text, index } of source.matchAll(TOKEN)) {
    for (; counted < index; counted++) if (source[counted] === "\n") line++;
    if (comment !== undefined) {
      const words = comment.replace(/^[ \t]*(?:\/\*+|\/\/|\*\/?)|\*\/$/gm, " ");
      passages.push({ line, text: words.replace(/\s+/g, " ").trim(), kind: "comment" });
    } else if (text !== undefined && /\p{L} \p{L}/u.test(whole)) {
      passages.push({ line, text: text.slice(1, -1), kind: "text" });
    }
  }
  return passages;
}

/** Prose outside of code blocks. */
function paragraphs(source: string): Passage[] {
  const withoutCode = source.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ""));
  return withoutCode.split("\n").map((text, at) => ({ line: at + 1, text, kind: "comment" }));
}
