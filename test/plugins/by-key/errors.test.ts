import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { isRefusal, refuse } from "../../../core/wire/refusal.ts";
import { filesBelow } from "../../support/files.ts";

/** The rooms whose refusals callers with a key get. */
const ROOMS = [
  ...["accounts", "body", "http", "limits", "listener", "plugin", "upstream", "wire"].map(
    (room) => `core/${room}`,
  ),
  ...["alias", "auth", "by-key", "maintenance", "meter", "rate-limit", "settle", "switches"].map(
    (name) => `plugins/${name}`,
  ),
  "plugins/translate",
  "plugins/vouchers",
];
/** Refusals of operators' and customers' own routes. */
const NOT_OF_CALLS = new Set([
  "core/plugin/confirmation.ts",
  "core/plugin/key-limits.ts",
  "plugins/maintenance/routes.ts",
  "plugins/switches/routes.ts",
  "plugins/vouchers/operator-routes.ts",
]);
/** Sent to operators alone, by the file that also refuses callers. */
const OPERATORS_CODE = / (?:proof_required|role_forbids)$/;

/** Returns the text of a call's arguments, from after its opening bracket. */
function argumentsFrom(source: string, from: number): string {
  let depth = 1;
  let at = from;
  for (; at < source.length && depth > 0; at++) {
    const character = source[at] ?? "";
    if ("([{".includes(character)) depth++;
    else if (")]}".includes(character)) depth--;
    else if (`"'\``.includes(character)) at = source.indexOf(character, at + 1);
  }
  return source.slice(from, at - 1);
}

/** Returns "status type code" of each refusal in a source; the status is `…` if it is not written there. */
function refusalsIn(source: string): string[] {
  const found: string[] = [];
  const constants = new Map(
    Array.from(source.matchAll(/const (\w+) = "([a-z_]+)"/g), ([, name, text]) => [name, text]),
  );
  for (const match of source.matchAll(/\brefuse\.(\w+)\(/g)) {
    const name = match[1] as keyof typeof refuse;
    const given = argumentsFrom(source, match.index + match[0].length);
    const [, literal, constant] = /\bcode: (?:"(\w+)"|([A-Z_]+))/.exec(given) ?? [];
    const code = literal ?? constants.get(constant) ?? "";
    if (name === "as") {
      const [, status = "", type] = /^\s*(\w+),\s*"(\w+)"/.exec(given) ?? [];
      // Without a status and a code of its own it passes a provider's refusal on.
      const isOwn = /^\d+$/.test(status);
      if (type && (isOwn || code)) found.push(`${isOwn ? status : "…"} ${type} ${code}`);
      continue;
    }
    const made: unknown = refuse[name]("a message");
    if (isRefusal(made)) found.push(`${made.status} ${made.type} ${code}`);
  }
  // Translations reject by a value of their own, which becomes a 400.
  for (const [, code] of source.matchAll(/\bcode: "(unsupported_parameter)"/g)) {
    found.push(`400 invalid_request_error ${code}`);
  }
  return found;
}

/** Returns the rows of the table of errors as "status type code". */
function listed(): string[] {
  const page = readFileSync(join(packageRoot, "plugins/by-key/public/errors.md"), "utf8");
  const rows = page.matchAll(/^\| ([\d, ]+) \| `(\w+)` \| (?:`(\w+)`)? *\| \S.* \| \S.* \|$/gm);
  return Array.from(rows, ([, status = "", type, code = ""]) =>
    [status.includes(",") ? "…" : status, type, code].join(" "),
  );
}

t.test("errors.md lists every error that the gateway itself sends to callers", async (t) => {
  const files = ROOMS.flatMap(filesBelow).filter(
    (file) => file.endsWith(".ts") && !NOT_OF_CALLS.has(file),
  );
  const sent = files
    .flatMap((file) => refusalsIn(readFileSync(join(packageRoot, file), "utf8")))
    .filter((refusal) => !OPERATORS_CODE.test(refusal));
  t.ok(sent.length > 50, `${sent.length} refusals`);
  t.strictSame([...new Set(sent)].sort(), listed().sort());
});

t.test("the reader of refusals finds their codes", async (t) => {
  const source = `const LOST = "lost_it"; refuse.notFound(text("(" + ")"), { param: "a", code: LOST });
    refuse.as(own, "overloaded_error", \`a \${b}\`, { code: "overloaded", headers });
    refuse.rateLimited(message); other({ code: "no" }); refuse.as(415, "api_error", "a");`;
  t.strictSame(refusalsIn(source), [
    "404 not_found_error lost_it",
    "… overloaded_error overloaded",
    "429 rate_limit_error ",
    "415 api_error ",
  ]);
});
