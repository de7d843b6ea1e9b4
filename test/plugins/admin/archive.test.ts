import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { connect, type Sql } from "../../../core/database/client.ts";
import { createCommit } from "../../../core/money/ledger/commit.ts";
import { PostgresHistory } from "../../../core/money/ledger/history.ts";
import { newId } from "../../../core/process/id.ts";
import { charge } from "../../core/money/ledger/fixtures.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { recordedLog } from "../../support/log.ts";
import { reload } from "../../support/requests.ts";
import { runCli } from "./cli-runs.ts";

const MARCH = Date.UTC(2026, 2, 10);
const CALLS = 2_500;

t.test("archive", async (t) => {
  let gateway: TestGateway;
  let sql: Sql;
  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  const manifest = join(folder, "tollgate-2026-03.manifest.json");

  t.before(async () => {
    const { log } = recordedLog();
    gateway = await startGateway();
    const server = { url: gateway.ledger };
    sql = connect({ server, connectionsMax: 2, statementTimeoutMs: 30_000, log });
  });
  t.teardown(async () => {
    await sql?.end(1);
    await gateway?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const cli = (...words: string[]) =>
    runCli(words, {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });
  const months = async () => {
    const { body } = await admin(gateway, "GET", "/archive");
    const list = body["list"] as { month: string; state: string; can_be_archived: boolean }[];
    return new Map(list.map((each) => [each.month, each]));
  };
  const isDetached = async () => (await months()).get("2026-03")?.state === "detached";

  t.test("exports a month, takes it out, and still proves every wallet", async (t) => {
    const one = await createCustomer(gateway, { creditVnd: 10 });
    const two = await createCustomer(gateway, { creditVnd: 20 });
    const { all: commit } = createCommit(sql, new PostgresHistory(sql));
    const calls = Array.from({ length: CALLS }, (_, n) => {
      const at = MARCH + n;
      const named = n % 5 === 0 ? { purses: ["budget"] } : {};
      const account = n % 5 === 0 ? one.accountId : two.accountId;
      return charge(account, n % 7, { callId: newId(at), at, ...named });
    });
    await commit(calls);
    t.equal((await months()).get("2026-03")?.can_be_archived, false);
    await reload(gateway, { config: { stores: { months_kept: 1 } } });
    t.equal((await months()).get("2026-03")?.can_be_archived, true);
    const thisMonth = new Date().toISOString().slice(0, 7);
    t.equal((await months()).get(thisMonth)?.can_be_archived, false);

    for (const [month, expected] of [
      ["2026-3", /a month such as 2026-03/],
      [thisMonth, /must stay/],
      ["2024-01", /has no month 2024-01/],
    ] as const) {
      const refused = await cli("archive", "export", "--month", month, "--to", folder);
      t.equal(refused.code, 1, month);
      t.match(refused.stderr, expected);
    }
    t.strictSame(readdirSync(folder), [], "nothing is written");
    const none = join(manifest, "below-no-folder");
    writeFileSync(manifest, "");
    const refused = await cli("archive", "export", "--month", "2026-03", "--to", none);
    rmSync(manifest);
    t.match([refused.code, refused.stderr], [1, `cannot write to ${none}: `]);
    t.equal((await months()).get("2026-03")?.state, "open", "late calls are taken");

    // As if the export was killed after each of its first steps.
    t.equal((await admin(gateway, "POST", "/archive/2026-03/close", {})).status, 200);
    t.equal((await admin(gateway, "GET", "/archive/2026-03/sums")).status, 200);
    const early = { month: "2026-03", tables: [] };
    t.equal((await admin(gateway, "POST", "/archive/2026-03/detach", early)).status, 409);
    writeFileSync(join(folder, "tollgate-2026-03.usage_records_2026_03.jsonl.gz.part"), "half");
    t.notOk(await isDetached());
    t.equal((await cli("reconcile", "--full")).code, 0, "a closed month is in the ledger");

    const late = charge(two.accountId, 1, { callId: newId(MARCH), at: MARCH });
    await assert.rejects(commit([late]), /the month .*2026.03 is archived/);
    const exported = await cli("archive", "export", "--month", "2026-03", "--to", folder);
    t.equal(exported.code, 0, exported.stderr);
    t.ok(await isDetached());
    await assert.rejects(commit([late]), /the month 2026-03 is archived/);
    // A start after a crash hands over calls that the ledger has, free ones too: none is charged again.
    await commit(calls.slice(0, 8));

    for (const words of [["reconcile"], ["reconcile", "--full"], ["reconcile"]]) {
      const { code, stdout } = await cli(...words);
      t.equal(code, 0, stdout);
      t.match(JSON.parse(stdout), {
        wallets: 2,
        drifting_wallets: 0,
        purses: 1,
        drifting_purses: 0,
      });
    }
    t.equal((await cli("archive", "export", "--month", "2026-03", "--to", folder)).code, 1);
    t.equal((await cli("archive", "reopen", "--month", "2026-03")).code, 1);
    const call = await fetch(`${gateway.url}/v1/calls/${calls[0]?.posting.callId}`, {
      headers: { authorization: `Bearer ${one.key}` },
    });
    t.equal(call.status, 404);
    t.match(await call.json(), { error: { code: "call_archived" } });
  });

  t.test("reads an export again, and notices a change of it", async (t) => {
    t.equal((await cli("archive", "verify", "--file", manifest)).code, 0);
    const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".gz"));
    const read = await cli("archive", "read", "--file", join(folder, file), "--json");
    const rows = JSON.parse(read.stdout) as { account_id: string; charged: number }[];
    t.equal(rows.length, CALLS);
    const [{ account_id: account } = { account_id: "" }] = rows;
    const own = await cli(
      ...["archive", "read", "--file", join(folder, file), "--account", account, "--json"],
    );
    t.equal(JSON.parse(own.stdout).length, rows.filter((row) => row.account_id === account).length);

    const text = readFileSync(manifest, "utf8");
    writeFileSync(manifest, text.replace(/"rows": \d+/, '"rows": 1'));
    const differs = await cli("archive", "verify", "--file", manifest);
    t.equal(differs.code, 1);
    t.match(differs.stderr, /rows is \d+, in the manifest 1/);
    writeFileSync(manifest, text);
    const path = join(folder, file);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, bytes.length - 20));
    const cut = await cli("archive", "drop", "--month", "2026-03", "--file", manifest);
    t.equal(cut.code, 1);
    t.match(cut.stderr, /cannot read/);
    t.ok(await isDetached());
    writeFileSync(path, bytes);
  });

  t.test("deletes the tables of a month only after it was exported", async (t) => {
    t.equal((await admin(gateway, "POST", "/archive/2027-01/drop", {})).status, 409);
    const dropped = await cli("archive", "drop", "--month", "2026-03", "--file", manifest);
    t.equal(dropped.code, 0, dropped.stderr);
    const left = await sql.query("select from pg_class where relname like 'usage%2026\\_03'");
    t.equal(left.length, 0);
    t.equal((await cli("reconcile", "--full")).code, 0);
    const { status, body } = await admin(gateway, "GET", `/calls/${newId(MARCH)}`);
    t.equal(status, 404);
    t.match(body, { error: { code: "call_archived", message: /^2026-03 is archived/ } });
    t.match((await admin(gateway, "GET", `/calls/${newId(MARCH - 86_400_000 * 30)}`)).body, {
      error: { code: null },
    });
    t.equal((await cli("archive", "verify", "--file", manifest)).code, 0);
  });
});
