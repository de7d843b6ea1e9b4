import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Failpoint } from "../../core/process/failpoint.ts";
import { type GatewayOptions, startGateway, type TestGateway } from "./gateway.ts";

const DEATH_TIMEOUT_MS = 120_000;
const POLL_MS = 20;
const STARTS_MAX = 3;

/** A gateway that kills itself at a failpoint, once. The next start is a normal one. */
export class ArmedGateway {
  private constructor(
    readonly gateway: TestGateway,
    private readonly env: Record<string, string>,
    private readonly point: Failpoint,
  ) {}

  static async start(point: Failpoint, options: GatewayOptions): Promise<ArmedGateway> {
    const env: Record<string, string> = { TOLLGATE_FAILPOINT: point };
    return new ArmedGateway(await startGateway({ ...options, env }), env, point);
  }

  /** Resolves when it has died at its failpoint; fails if it never reaches it. */
  async died(): Promise<void> {
    const { pid } = this.gateway;
    const deadline = performance.now() + DEATH_TIMEOUT_MS;
    while (pid !== undefined && isAlive(pid)) {
      assert.ok(performance.now() < deadline, `${this.point} is never reached`);
      await delay(POLL_MS);
    }
    assert.match(this.gateway.logs, /will kill itself there/);
  }

  async startUnarmed(): Promise<void> {
    delete this.env["TOLLGATE_FAILPOINT"];
    await this.gateway.start();
  }
}

/**
 * Fails unless a gateway dies at this failpoint before it is ready. On a busy machine a reply of Redis may come too late,
 * so that the gateway passes the point by: with `again`, it is then called, and the gateway starts once more.
 */
export async function diesAtStart(
  point: Failpoint,
  options: GatewayOptions,
  again?: () => Promise<unknown>,
): Promise<void> {
  for (let attempt = 1; attempt <= STARTS_MAX; attempt += 1) {
    try {
      const gateway = await startGateway({ ...options, env: { TOLLGATE_FAILPOINT: point } });
      await gateway.close();
    } catch (error) {
      assert.match(String(error), /the gateway ended with SIGKILL/);
      return;
    }
    if (again === undefined) break;
    await again();
  }
  assert.fail(`${point} is never reached`);
}

/**
 * The path of a plugin that refuses calls with the header `x-refuse` after their hold was taken.
 */
export function refusingPlugin(): string {
  const file = join(mkdtempSync(join(tmpdir(), "tollgate-plugin-")), "refuse.js");
  const source = `export default () => ({
    name: "refuse",
    request(call) {
      if (call.headers["x-refuse"] === undefined) return undefined;
      const message = "refused";
      return { status: 400, type: "invalid_request_error", message, param: null, code: null, headers: [] };
    },
  });\n`;
  writeFileSync(file, source);
  writeFileSync(join(file, "..", "package.json"), '{"type":"module"}');
  return file;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
