import { spawnSync } from "node:child_process";
import t from "tap";
import { isPythonPattern } from "../../../../plugins/translate/schema/python-pattern.ts";

/** Patterns as tools and zod have them, which Python compiles. */
const KEPT = [
  "",
  "^[a-z0-9_-]{1,64}$",
  "^\\d{4}-\\d{2}-\\d{2}$",
  "^(?:[a-z]+|\\d+)(?=x)(?!y)$",
  "^[A-Za-z_$][\\w$]*(\\.[\\w-]+)*$",
  "^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$",
  "^https?://[^/]+/.*$",
  "^\\/[a-z]+\\/?$",
  "\\u00e9|\\x41|\\n|\\t|\\0|\\012|\\.|\\-|\\é",
  "^[\\u4e00-\\u9fa5]+$",
  "[a\\-z]|[a-]|[-a]|[\\w-]|[+--]",
  "(a)(b)\\1\\2",
  "(?P<y>\\d)-(?P=y)",
  "(?i)^abc$",
  "(?i:abc)",
  "a{2}|a{2,}|a{,3}|a{2,3}?|a*?",
  "a{b}|{a}|{}|}|]",
  "^[^[\\]]*$",
  "(?<=ab|cd)e(?<!x{2})",
  "(?<=^a)b",
  "\\Aa\\Z|\\b\\B",
  "(?=a)*(?:)*()?",
  "😀+|[😀-😂]|é",
  "\\U0001F600",
  // zod's own: email, uuid, ISO date and time, base64, cuid2, E.164, IPv4.
  "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
  "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000)$",
  "^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z))$",
  "^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$",
  "^\\+(?:[0-9]){6,14}[0-9]$",
  "^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$",
];

/** Patterns that Python refuses. */
const REFUSED = [
  "^[^\\p{Cc}]{1,200}$",
  '^(?!__.*__$)[^\\p{Cc}\\p{Cf}"\\\\./[\\]]{1,200}$',
  "\\P{L}",
  "^(?<y>\\d)$",
  "(?<y>a)\\k<y>",
  "\\u{1F600}",
  "\\u12|\\x4",
  "\\UFFFFFFFF",
  "[^]",
  "[]",
  "[a",
  "\\cX",
  "\\e|\\h",
  "\\y",
  "\\z",
  "[\\w-x]",
  "[\\w-.]",
  "[a-\\d]",
  "[z-a]",
  "[\\A]",
  "[\\8]",
  "\\1(a)",
  "(a\\1)",
  "(a)\\2",
  "\\8",
  "\\777",
  "(?<=a|bc)d",
  "(?<!a*)b",
  "(?<=(a)\\1)b",
  "(?P<n>a)(?P<n>b)",
  "(?P=n)",
  "(?P<0n>a)",
  "a(?i)b",
  "(?-i)a",
  "*a",
  "a|*",
  "(+)",
  "a**",
  "a{2}{3}",
  "{2}",
  "^*",
  "\\b+",
  "a{3,1}",
  "a{99999999999}",
  "(a",
  "a)",
  "a\\",
  "(?",
  "(?P>n)",
  "(?<",
];

/** Patterns that Python compiles since 3.11, or reads in another way than JavaScript. */
const LEFT_OUT_IN_DOUBT = [
  "a*+",
  "a{2}+",
  "(?>a)",
  "[]a]",
  "[^]a]",
  "(?#c)a",
  "(?x) a # b",
  "(?i-s:a)",
  "(a)(?(1)b|c)",
  "[\\uD83D\\uDE00-\\uDE4F]",
  "\\uD83D\\uDE00",
  "\\N{DIGIT ONE}",
  "(".repeat(60) + ")".repeat(60),
  "a".repeat(6_000),
];

t.test("patterns that Python compiles are kept, all others are not", async (t) => {
  for (const pattern of KEPT) t.ok(isPythonPattern(pattern), pattern);
  for (const pattern of [...REFUSED, ...LEFT_OUT_IN_DOUBT]) {
    t.notOk(isPythonPattern(pattern), pattern.slice(0, 80));
  }
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
  ..."(?#c) (?x) [ ] [^ [a-z] [^\\]] [] [^] \\d \\w \\s \\b \\B \\A \\Z \\z \\n \\e \\p{L}".split(
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
  const patterns = [...KEPT, ...REFUSED, ...random];
  const compiled = JSON.parse(run(patterns).stdout) as boolean[];
  const wrong = patterns.filter((pattern, at) => isPythonPattern(pattern) && !compiled[at]);
  t.strictSame(wrong, [], "each pattern that is kept compiles");
  const refused = patterns.slice(0, KEPT.length + REFUSED.length).filter((_, at) => !compiled[at]);
  t.strictSame(refused, REFUSED, "Python refuses what the table says");
});
