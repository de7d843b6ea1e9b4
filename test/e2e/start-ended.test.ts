import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { JsonObject } from "../../core/process/json.ts";
import { freePort } from "../support/free-port.ts";
import { mainProgram } from "../support/gateway.ts";
import { testConfig, writeConfig } from "../support/gateway-config.ts";
import { copyEmptyLedger } from "../support/ledger-template.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { startRedisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { shortLivedFlags } from "../support/v8-flags.ts";

/** Starts a gateway without waiting until it serves. */
async function spawnGateway(
  t: Test,
  config: JsonObject,
  env: Readonly<Record<string, string>> = {},
  isInTerminal = false,
) {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const around = { port: await freePort(), data: join(folder, "data"), simulatorPort: 9001 };
  const file = join(folder, "gateway.yaml");
  const database = await migratedDatabase();
  if (!database) await copyEmptyLedger(around.data);
  const ledger = database?.url;
  writeConfig(file, testConfig({ config }, { ...around, ledger, adminToken: "a".repeat(32) }));
  const options = { cwd: folder, env: { ...process.env, ...env } };
  const args = [...shortLivedFlags(), mainProgram(), "--config", file];
  const end = join(folder, "end");
  const line = [process.execPath, ...args].map((word) => `'${word}'`).join(" ");
  // The shell outlives the terminal, and says how the gateway ends.
  const command = `trap : HUP; echo $$ > '${end}.pid'; ${line}; echo $? > '${end}'`;
  const child = isInTerminal
    ? spawn("script", ["--quiet", "--flush", "--command", command, "/dev/null"], options)
    : spawn(process.execPath, args, options);
  t.teardown(async () => {
    child.kill("SIGKILL");
    await database?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  let output = "";
  child.stdout.on("data", (text) => (output += text));
  child.stderr.on("data", (text) => (output += text));
  return { child, closed: once(child, "close"), output: () => output, end };
}

/** A Redis that takes connections and says nothing. */
async function silentRedis(t: Test) {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address);
  return { url: `redis://127.0.0.1:${address.port}`, connected: once(server, "connection") };
}

/** By default, the kernel drops a signal to the first process of a container: so the gateway must handle it. */
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  t.test(`${signal} ends a gateway that waits for Redis at its start`, async (t) => {
    const { url: hot, connected } = await silentRedis(t);
    const { child, closed, output } = await spawnGateway(t, { stores: { hot } });
    await Promise.race([connected, closed]);
    // A reload is no end.
    child.kill("SIGHUP");
    child.kill(signal);
    const [code] = await closed;
    t.equal(code, 0, output());
    t.match(output(), `${signal}: ended before the start was complete`);
  });
}

/** The gateway sends it to itself at the last moment at which the handler of its start would get it. */
const SIGNAL_AT_THE_END = `
  const { off } = process;
  process.off = (name, handler) => {
    if (name === "SIGTERM") process.kill(process.pid, name);
    return off.call(process, name, handler);
  };`;

t.test("SIGTERM stops a gateway whose start is being completed", async (t) => {
  const env = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(SIGNAL_AT_THE_END)}`,
  };
  const { child, output } = await spawnGateway(t, {}, env);
  await until(
    () => `it ends: ${output()}`,
    () => child.exitCode !== null,
  );
  t.equal(child.exitCode, 0, output());
  t.match(output(), "stopping; calls in flight may finish");
});

/** The gateway sends it to itself once it has read its config. */
const RELOAD_AT_THE_START = `
  const { on } = process;
  process.on = (name, handler) => {
    if (name === "SIGTERM") process.kill(process.pid, "SIGHUP");
    return on.call(process, name, handler);
  };`;

t.test("SIGHUP during the start reads the config again once it is complete", async (t) => {
  const env = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(RELOAD_AT_THE_START)}`,
  };
  const { child, closed, output } = await spawnGateway(t, {}, env);
  await until(
    () => `it reloads: ${output()}`,
    () => child.exitCode !== null || child.signalCode !== null || output().includes("reloaded"),
  );
  t.match(output(), /listening.*reloaded/s);
  child.kill("SIGTERM");
  t.strictSame(await closed, [0, null], output());
});

const hasTerminals = spawnSync("script", ["--quiet", "--command", ":", "/dev/null"]).status === 0;
for (const workers of [1, 2]) {
  const what = `a gateway of ${workers} reloads while its terminal is open, and ends with it`;
  t.test(what, { skip: !hasTerminals && "needs script of util-linux" }, async (t) => {
    const redis = workers > 1 ? await startRedisServer() : undefined;
    t.teardown(() => redis?.stop());
    const stores = redis ? { hot: redis.url } : {};
    const env = {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(RELOAD_AT_THE_START)}`,
    };
    const started = await spawnGateway(t, { listen: { workers }, stores }, env, true);
    const { child, closed, output, end } = started;
    await until(
      () => `it reloads: ${output()}`,
      () => output().split("reloaded").length > workers,
    );
    // Its end closes the terminal.
    child.kill("SIGKILL");
    await closed;
    // As its shell does, which outlives it here.
    process.kill(-Number(readFileSync(`${end}.pid`, "utf8")), "SIGHUP");
    await until(
      () => `it ends: ${output()}`,
      () => existsSync(end) && readFileSync(end, "utf8") !== "",
    );
    t.equal(readFileSync(end, "utf8"), "0\n", "without a crash");
  });
}
