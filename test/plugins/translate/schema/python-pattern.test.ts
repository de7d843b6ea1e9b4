import { spawnSync } from "node:child_process";
import t from "tap";
import { isPythonPattern, isRe2Pattern } from "../../../../plugins/translate/schema/re2-pattern.ts";

/** Patterns as tools and zod have them, which Python compiles. */
const KEPT = [
  "",
  "^[a-z0-9_-]{1,64}$",
  "^\\d{4}-\\d{2}-\\d{2}$",
  "^[A-Za-z_$][\\w$]*(\\.[\\w-]+)*$",
  "^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$",
  "^https?://[^/]+/.*$",
  "^\\/[a-z]+\\/?$",
  "\\x41|\\n|\\t|\\.|\\-|\\é",
  "\\[\\d{4}-\\d\\]|\\[\\w-\\d\\]",
  "[a\\-z]|[a-]|[-a]|[\\w-]|[+--]",
  "a{2}|a{2,}|a{2,3}?|a*?",
  "a{b}|{a}|{}|}|]",
  "^[^[\\]]*$",
  "[\\\\]|[\\\\B]|(\\\\?=a)",
  "\\Aa|\\b\\B|\\A\\\\*",
  "😀+|é",
  // zod's own: uuid, ISO date and time, base64, cuid2, E.164, IPv4.
  "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000)$",
  "^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z))$",
  "^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$",
  "^\\+(?:[0-9]){6,14}[0-9]$",
  "^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$",
];

/** Patterns that Python refuses, or reads in another way than JavaScript or RE2. */
const REFUSED = [
  "^[^\\p{Cc}]{1,200}$",
  "\\P{L}",
  "\\z",
  "\\x4",
  "[a-\\d]",
  "[\\]a-\\d]",
  "[\\]\\w-x]",
  "[\\w-\\\\]",
  "[\\A]",
  "[\\]\\B]",
  "\\A*",
  "\\A{2}",
  "a{,3}",
  "(?P<y>\\d)-(?P=y)",
  "^(?<y>\\d)$",
  "(?!__.*__$)a",
  "(?i)^abc$",
  "(a)\\1",
  "\\u{1F600}",
  "[^]a]",
  "[z-a]",
  "a**",
  "a*+",
  "(a",
  "a".repeat(6_000),
];

t.test("patterns that Python compiles are kept, others are not", async (t) => {
  for (const pattern of KEPT) t.ok(isPythonPattern(pattern), pattern);
  for (const pattern of REFUSED) t.notOk(isPythonPattern(pattern), pattern.slice(0, 80));
});

t.test("a hostile pattern costs next to nothing", async (t) => {
  const start = performance.now();
  for (const piece of ["[", "[\\", "[a-", "[\\w", "\\[", "{1", "(?", "[^"]) {
    for (let i = 0; i < 100; i += 1) isPythonPattern(piece.repeat(4_990 / piece.length) + i);
    isRe2Pattern(piece.repeat(60_000));
  }
  t.ok(performance.now() - start < 1_000, "800 patterns take less than a second");
});

const COMPILE = `
import json, re, sys
def compiles(pattern):
    try:
        re.compile(pattern)
        return True
    except Exception:
        return False
print(json.dumps([compiles(pattern) for pattern in json.load(sys.stdin)]))
`;
const PARTS = [
  ..."a z 0 9 - _ . ^ $ | ( ) (?: (?= (?! (?<= (?<! (?P<n> (?P=n) (?<n> (?> (?i) (?i: (?s-i:".split(
    " ",
  ),
  ..."(?#c) (?x) [ ] \\] \\[ [^ [a-z] [^\\]] [] [^] \\d \\w \\s \\b \\B \\A \\Z \\z \\n \\e \\p{L}".split(
    " ",
  ),
  ..."\\k<n> \\u{1F600} \\u0041 \\uD83D \\x41 \\x4 \\U0001F600 \\cX \\0 \\1 \\2 \\12 \\777".split(
    " ",
  ),
  ..."\\8 \\- \\/ \\\\ \\ * + ? *? ?? *+ {2} {2,} {,2} {,} {} { } {1,3} {3,1} {a} && 😀 é # ,".split(
    " ",
  ),
];

t.test("a real Python agrees", async (t) => {
  const run = (patterns: readonly string[]) =>
    spawnSync("python3", ["-W", "ignore", "-c", COMPILE], {
      input: JSON.stringify(patterns),
      encoding: "utf8",
      maxBuffer: 64_000_000,
    });
  if (run([]).status !== 0) return t.comment("no python3 on this machine");
  let state = 1;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const random = Array.from({ length: 20_000 }, () =>
    Array.from({ length: 1 + below(8) }, () => PARTS[below(PARTS.length)] ?? "").join(""),
  );
  const patterns = [...KEPT, ...random];
  const compiled = JSON.parse(run(patterns).stdout) as boolean[];
  const wrong = patterns.filter((pattern, at) => isPythonPattern(pattern) && !compiled[at]);
  t.strictSame(wrong, [], "each pattern that is kept compiles");
});
