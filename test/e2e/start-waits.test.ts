import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import t from "tap";
import { freePort } from "../support/free-port.ts";
import { mainProgram } from "../support/gateway.ts";
import { testConfig, writeConfig } from "../support/gateway-config.ts";
import { startPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { shortLivedFlags } from "../support/v8-flags.ts";

t.test("a start that waits for another process says for what", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const server = await startPostgres();
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  const around = { port: await freePort(), data: join(folder, "data"), simulatorPort: 9001 };
  const file = join(folder, "gateway.yaml");
  const stores = { ledger: server.url };
  writeConfig(file, testConfig({ config: { stores } }, { ...around, adminToken: "a".repeat(32) }));
  let output = "";
  const start = () => {
    output = "";
    const child = spawn(process.execPath, [...shortLivedFlags(), mainProgram(), "--config", file], {
      cwd: folder,
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text) => (output += text));
    }
    return child;
  };
  let child = start();
  const says = (text: string) => until(text, () => output.includes(text));
  t.teardown(async () => {
    child.kill("SIGKILL");
    await sql.end();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await says('"msg":"listening"');
  child.kill("SIGKILL");

  // Another process migrates the ledger; then one that is upgraded holds the tables of a plugin.
  for (const [lock, step] of [
    ["select pg_advisory_xact_lock(7305301)", "starting: waiting for the ledger"],
    [
      "lock table accounts_migrations in access exclusive mode",
      "starting: waiting for the tables of plugin accounts",
    ],
  ] as const) {
    await sql.begin(async (held) => {
      await held.unsafe(lock);
      child = start();
      await says(step);
    });
    await says('"msg":"listening"');
    child.kill("SIGKILL");
  }
});
