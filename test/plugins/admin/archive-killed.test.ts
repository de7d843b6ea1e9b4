import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { connect, type Sql } from "../../../core/database/client.ts";
import { remoteServer } from "../../../core/database/server.ts";
import { createPostgresLedger } from "../../../core/money/ledger/postgres.ts";
import { newId } from "../../../core/process/id.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { charge, fundedAccount } from "../../core/money/ledger/fixtures.ts";
import { admin } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { runCli } from "./cli-runs.ts";

const MONTH = "2026-01";
/** More than one page of lines. */
const CALLS = Array.from({ length: 2_100 }, (_, n) => Date.UTC(2026, 0, 10) + n);
const { log } = recordedLog();

/** Makes the ledger of a gateway that has run in January 2026. */
async function filledLedger(url: string): Promise<void> {
  const options = { server: { url }, connectionsMax: 1, statementTimeoutMs: 60_000, log };
  const clock = { now: () => Date.now(), monotonic: () => 0 };
  const ledger = createPostgresLedger({ server: remoteServer(connect(options)), clock, log });
  await ledger.start();
  const account = await fundedAccount(ledger, 1_000_000n);
  await ledger.commit(CALLS.map((at) => charge(account, 7, { callId: newId(at), at })));
  await ledger.stop();
}

t.test("an export of a month", async (t) => {
  let postgres: TestPostgres;
  let gateway: TestGateway;
  let between: Server;
  let sql: Sql;
  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  const manifest = join(folder, `tollgate-${MONTH}.manifest.json`);
  /** Called for each request of a command, before the gateway has it, and after. */
  let onRequest: (when: "before" | "after", path: string) => void = () => {};

  t.before(async () => {
    postgres = await startPostgres();
    await filledLedger(postgres.url);
    gateway = await startGateway({ config: { stores: { months_kept: 1, ledger: postgres.url } } });
    sql = connect({
      server: { url: postgres.url },
      connectionsMax: 1,
      statementTimeoutMs: 30_000,
      log,
    });
    between = createServer(async (request, response) => {
      const path = request.url ?? "";
      const body = await text(request);
      onRequest("before", path);
      const { authorization = "" } = request.headers;
      const reply = await fetch(`${gateway.url}${path}`, {
        method: request.method ?? "GET",
        headers: { authorization, "content-type": "application/json" },
        ...(body !== "" && { body }),
      });
      const content = await reply.text();
      onRequest("after", path);
      response.writeHead(reply.status, { "content-type": "application/json" }).end(content);
    });
    between.listen(0, "127.0.0.1");
    await once(between, "listening");
  });
  t.teardown(async () => {
    between?.closeAllConnections();
    between?.close();
    await sql?.end(1);
    await gateway?.close();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const cli = (...words: string[]) =>
    runCli(words, {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });
  const exportWords = ["archive", "export", "--month", MONTH, "--to", folder];

  /** Runs the export in a process of its own, and kills it at one of its requests. Returns true if it was killed. */
  async function killedAt(request: number, when: "before" | "after"): Promise<boolean> {
    const { port } = between.address() as AddressInfo;
    const program = join(packageRoot, "dist", "plugins", "admin", "cli.js");
    const child = spawn(process.execPath, [program, ...exportWords], {
      env: {
        ...process.env,
        GATEWAY_URL: `http://127.0.0.1:${port}`,
        GATEWAY_ADMIN_TOKEN: gateway.adminToken,
      },
      stdio: "ignore",
    });
    let seen = 0;
    onRequest = (now) => {
      if (now === when && ++seen === request) child.kill("SIGKILL");
    };
    const [code, signal] = await once(child, "exit");
    // The last request of one that was killed may reach the gateway later.
    const isOver = code === 0 || (code === 1 && (await state()) === "detached");
    assert.ok(isOver || signal === "SIGKILL", `it ended with ${code}`);
    return signal === "SIGKILL";
  }

  async function state(): Promise<string | undefined> {
    const { body } = await admin(gateway, "GET", "/archive");
    const months = body["list"] as { month: string; state: string }[];
    return months.find(({ month }) => month === MONTH)?.state;
  }

  /** Checks that each file with its final name is whole, and returns the number of their lines. */
  function linesWritten(): number {
    const files = readdirSync(folder).filter((name) => name.endsWith(".gz"));
    return files.reduce((lines, name) => {
      const content = gunzipSync(readFileSync(join(folder, name))).toString();
      assert.ok(content.endsWith("\n"), name);
      return lines + content.split("\n").length - 1;
    }, 0);
  }

  t.test("loses nothing and takes no half file for whole, killed at each request", async (t) => {
    t.equal((await cli("reconcile")).code, 0);
    let [request, parts] = [1, 0];
    while (await killedAt(request, request % 2 === 0 ? "after" : "before")) {
      request += 1;
      linesWritten();
      const names = readdirSync(folder);
      if (names.some((name) => name.endsWith(".part"))) parts += 1;
      if (!existsSync(manifest)) t.not(await state(), "detached");
      if ((await state()) === "detached") break;
    }
    t.ok(request > 6, `${request} requests`);
    t.ok(parts > 0, "some were killed while they wrote");
    if ((await state()) !== "detached") t.equal((await cli(...exportWords)).code, 0);
    t.equal(linesWritten(), CALLS.length, "a record of each call");
    t.equal((await cli("archive", "verify", "--file", manifest)).code, 0);
    t.equal((await cli("reconcile", "--full")).code, 0);
  });

  t.test("can be dropped, and the balance is still proven", async (t) => {
    const dropped = await cli("archive", "drop", "--month", MONTH, "--file", manifest);
    t.equal(dropped.code, 0, dropped.stderr);
    t.equal(await state(), "dropped");
    const left = await sql.query("select from pg_class where relname ~ '^usage_records_2026_01'");
    t.equal(left.length, 0);
    for (const words of [["reconcile"], ["reconcile", "--full"]]) {
      const { code, stdout } = await cli(...words);
      t.equal(code, 0, stdout);
      t.match(JSON.parse(stdout), { wallets: 1, drifting_wallets: 0 });
    }
    t.equal((await cli("archive", "verify", "--file", manifest)).code, 0);
  });
});
