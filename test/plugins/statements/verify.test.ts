import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { formatVnd } from "../../../core/catalogue/amount.ts";
import { packageRoot } from "../../../core/process/root.ts";
import {
  closingFields,
  type Fields,
  headLine,
  lineOf,
  openingFields,
  type Row,
  rowFields,
  StatementDigest,
} from "../../../plugins/statements/canonical.ts";
import { verifyStatement } from "../../../plugins/statements/verify.ts";
import { Random } from "../../support/random.ts";

const random = Random.printed();
const KINDS = [
  "transfer",
  "credit",
  "bonus",
  "voucher",
  "taken_back",
  "refund",
  "adjustment",
] as const;
const NOTES = ["TG12AB", "=1+1", 'quoted "word"; and more', "một lý do, có dấu phẩy", "-5", null];
const PREVIOUS = "ab".repeat(32);
const ACCOUNT = "11111111-1111-4111-8111-111111111111";

/** A statement with random rows, in the forms in which it leaves the gateway. */
function someStatement(count: number) {
  let balance = BigInt(random.below(1e9)) * 1_000n;
  const opening = balance;
  const sums: Record<string, bigint> = {};
  const rows: Row[] = Array.from({ length: count }, (_, at) => {
    const isCharges = random.chance(0.5);
    const kind = isCharges ? "charges" : random.pick(KINDS);
    const amount = BigInt(1 + random.below(2e9)) * (isCharges ? -1n : 1n);
    balance += amount;
    sums[kind] = (sums[kind] ?? 0n) + amount;
    const day = `2026-10-${String(1 + Math.floor((at * 31) / count)).padStart(2, "0")}`;
    return {
      day,
      time_vietnam: isCharges ? null : `${day} 10:00:0${random.below(10)}`,
      kind,
      model: isCharges ? random.pick(["gpt-5.6-sol", "req/gpt-image-2", ""]) : null,
      calls: isCharges ? 1 + random.below(1_000_000) : null,
      amount_vnd: formatVnd(amount),
      balance_vnd: formatVnd(balance),
      note: isCharges ? null : random.pick(NOTES),
    };
  });
  const head = {
    ...{ account_id: ACCOUNT, month: "2026-10", number: 3, previous_digest: PREVIOUS },
    ...{ opening_vnd: formatVnd(opening), closing_vnd: formatVnd(balance) },
  };
  const lines: Fields[] = [
    openingFields(head),
    ...rows.map((row, at) => rowFields(at + 1, row)),
    closingFields(rows.length + 1, head),
  ];
  const hash = new StatementDigest();
  for (const line of lines) hash.add(line);
  const digest = hash.end();
  const names = [
    "transfers",
    "credits",
    "bonuses",
    "vouchers",
    "taken_back",
    "refunds",
    "adjustments",
    "charges",
  ];
  const kinds = [...KINDS, "charges"];
  const totals = Object.fromEntries(
    names.map((name, at) => [`${name}_vnd`, formatVnd(sums[kinds[at] ?? ""] ?? 0n)]),
  );
  const csv = (decimal: "point" | "comma") =>
    headLine(decimal) + lines.map((line) => lineOf(line, decimal)).join("");
  return { digest, rows, json: { ...head, digest, rows, totals }, csv };
}

t.test("a statement's file", async (t) => {
  t.test(
    "has the digest of the mail in every form, also after a spreadsheet wrote it",
    async (t) => {
      for (let round = 0; round < 20; round++) {
        const { digest, json, csv } = someStatement(random.below(40));
        const spaced = digest.toUpperCase().replace(/.{8}/g, "$& ");
        const rewritten = csv("point").replaceAll("\r\n", "\n").slice(1);
        for (const text of [csv("point"), csv("comma"), JSON.stringify(json, null, 2), rewritten])
          t.strictSame(verifyStatement(text, { digest: spaced, previous: PREVIOUS }).problems, []);
      }
    },
  );

  t.test("is wrong if one character of it was changed, wherever", async (t) => {
    for (let round = 0; round < 200; round++) {
      const { digest, csv } = someStatement(12);
      const text = csv("point");
      // After the names of the columns.
      const at = text.indexOf("\r\n") + 2 + random.below(text.length - text.indexOf("\r\n") - 4);
      const old = text[at] ?? "";
      // Other line ends are the same statement.
      if (/["\r\n]/.test(old)) continue;
      const changed = text.slice(0, at) + (old === "7" ? "8" : "7") + text.slice(at + 1);
      const { problems } = verifyStatement(changed, { digest, previous: PREVIOUS });
      t.ok(problems.length > 0, `${at}: ${old}`);
    }
  });

  t.test("is wrong if rows were dropped, doubled or changed places", async (t) => {
    const { digest, json, rows } = someStatement(30);
    const changes: (readonly Row[])[] = [
      rows.slice(1),
      [...rows, ...rows.slice(-1)],
      rows.toReversed(),
    ];
    for (const changed of changes)
      t.not(
        verifyStatement(JSON.stringify({ ...json, rows: changed }), { digest }).problems.length,
        0,
      );
  });

  t.test("names the row whose balance does not follow, and the sum that is wrong", async (t) => {
    const row = (amount_vnd: string, balance_vnd: string): Row => ({
      ...{ day: "2026-10-02", time_vietnam: null, kind: "charges", model: "gpt-5.6-sol", calls: 2 },
      ...{ amount_vnd, balance_vnd, note: null },
    });
    const { json } = someStatement(0);
    const opened = { ...json, opening_vnd: "100", closing_vnd: "89.5", digest: undefined };
    const totals = { ...json.totals, charges_vnd: "-11" };
    const rows = [row("-10", "90"), row("-0.5", "89.4")];
    const { problems } = verifyStatement(JSON.stringify({ ...opened, rows, totals }), {});
    t.strictSame(problems, [
      "row 2 (2026-10-02 charges gpt-5.6-sol): 90 + -0.5 = 89.5, but the balance after it is 89.4",
      "the closing balance is 89.5, but the balance after the last row is 89.4",
      "totals.charges_vnd is -11, but the rows add up to -10.5",
    ]);
  });

  t.test("is refused if it is something else", async (t) => {
    for (const text of ["", "{}", "{", "a,b\r\n1,2", headLine(), `${headLine()}1,2\r\n`])
      t.match(verifyStatement(text, {}).problems[0], /^this is no statement: /);
  });

  t.test("is checked by a command without gateway, database or config", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const { digest, csv } = someStatement(5);
    const file = join(folder, "statement.csv");
    const run = (...given: string[]) => {
      const program = join(packageRoot, "dist/plugins/statements/verify.js");
      const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...given], {
        cwd: folder,
        env: {},
        encoding: "utf8",
      });
      return { status, text: stdout + stderr };
    };
    writeFileSync(file, csv("point"));
    const right = run(file, "--digest", digest, "--previous", PREVIOUS);
    t.strictSame([right.status, right.text.includes("it is the one of the mail")], [0, true]);
    t.equal(run(file).status, 0);
    const other = run(file, "--digest", digest, "--previous", "cd".repeat(32));
    t.equal(other.status, 1);
    t.match(other.text, /a statement between them or before was changed/);
    writeFileSync(file, csv("point").replace(/,closing,,,,/, ",closing,,,,9"));
    const wrong = run(file, "--digest", digest);
    t.equal(wrong.status, 1);
    t.match(wrong.text, /^wrong: the closing balance is 9/);
    t.equal(run().status, 2);
    t.equal(run(join(folder, "none.csv")).status, 2);
    // npm starts it by a link.
    const link = join(folder, "verify-statement");
    symlinkSync(join(packageRoot, "dist/plugins/statements/verify.js"), link);
    t.equal(spawnSync(process.execPath, [link, "none.csv"], { cwd: folder }).status, 2);
    const { bin } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8"));
    t.equal(bin["verify-statement"], "dist/plugins/statements/verify.js");
  });
});
