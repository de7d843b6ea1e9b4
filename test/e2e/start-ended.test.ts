import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { freePort } from "../support/free-port.ts";
import { testConfig, writeConfig } from "../support/gateway-config.ts";

/** By default, the kernel drops a signal to the first process of a container: so the gateway must handle it. */
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  t.test(`${signal} ends a gateway that waits for Redis at its start`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
    const silentRedis = createServer(() => {}).listen(0, "127.0.0.1");
    t.teardown(() => {
      silentRedis.close();
      rmSync(folder, { recursive: true, force: true });
    });
    await once(silentRedis, "listening");
    const address = silentRedis.address();
    assert.ok(typeof address === "object" && address);
    const hot = `redis://127.0.0.1:${address.port}`;
    const around = { port: await freePort(), data: join(folder, "data"), simulatorPort: 9001 };
    const file = join(folder, "gateway.yaml");
    writeConfig(
      file,
      testConfig({ config: { stores: { hot } } }, { ...around, adminToken: "a".repeat(32) }),
    );
    const program = join(packageRoot, "dist", "core", "main.js");
    const child = spawn(process.execPath, [program, "--config", file], { cwd: folder });
    let output = "";
    child.stdout.on("data", (text) => (output += text));
    child.stderr.on("data", (text) => (output += text));
    const closed = once(child, "close");
    await Promise.race([once(silentRedis, "connection"), closed]);
    child.kill(signal);
    const [code] = await closed;
    t.equal(code, 0, output);
    t.match(output, `${signal}: ended before the start was complete`);
  });
}
