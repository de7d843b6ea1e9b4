import { spawn } from "node:child_process";
import { once, setMaxListeners } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { packageRoot } from "../../core/process/root.ts";
import { admin, createCustomer } from "../support/admin.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { startNameServer } from "../support/name-server.ts";
import { startTestSimulator } from "../support/simulator.ts";
import { until } from "../support/until.ts";
import { type Attack, Target } from "./attack.ts";
import type { HonestReport } from "./honest-child.ts";
import { MemoryLimit } from "./memory-limit.ts";

const LIMIT_BYTES = 2 * 1_073_741_824;
const HONEST_CREDIT_VND = 10_000_000;
/** How long the honest client continues after an attack, so that late replies are counted. */
const AFTER_MS = 500;

interface Attacked {
  readonly gateway: TestGateway;
  close(): Promise<void>;
}

/**
 * Starts the gateway that is attacked: with its own ledger, images from this machine, and a name server that never
 * replies. The provider of the honest
 * client's model is a process of its own, since a real one is not slowed down by what the attacker asks of another.
 */
export async function startAttacked(): Promise<Attacked> {
  const provider = await startTestSimulator();
  const silent = await startNameServer();
  const url = `${provider.url}/v1`;
  const gateway = await startGateway({
    ledger: "embedded",
    config: {
      images: { private_addresses: true, name_servers: [silent.address] },

      upstreams: { openai: { protocols: { chat: url, responses: url } } },
    },
  });
  return {
    gateway,
    async close() {
      await gateway.close();
      await provider.stop();
      silent.close();
    },
  };
}

/** The result of an attack. */
export interface AttackResult {
  readonly attack: Attack;
  readonly survived: boolean;
  readonly replies: ReadonlyMap<string, number>;
  readonly honest: HonestReport;
  readonly peakBytes: number;
}

/** Runs one attack for a time, beside an honest client, against a gateway that is killed beyond 2 GB. */
export async function runAttack(
  gateway: TestGateway,
  attack: Attack,
  seconds: number,
): Promise<AttackResult> {
  const { pid } = gateway;
  if (pid === undefined) throw new Error("the gateway does not run");
  // The guesses of the attack before came from this address too.
  await until("the admin API takes the token", async () => {
    const { status } = await admin(gateway, "GET", "/accounts?limit=1");
    return status === 200;
  });
  const { key } = await createCustomer(gateway, { creditVnd: HONEST_CREDIT_VND });
  const honest = await startHonest(gateway.url, key);
  const memory = new MemoryLimit(pid, LIMIT_BYTES);
  const end = new AbortController();
  // Every connection of the attack listens for its end.
  setMaxListeners(0, end.signal);
  const target = new Target(gateway, end.signal);
  const attacking = attack.run(target);
  await delay(seconds * 1_000);
  const { peakBytes } = memory;
  end.abort();
  await attacking;
  await delay(AFTER_MS);
  const report = await honest.end();
  memory.stop();
  const survived = !memory.wasExceeded && (await isAlive(gateway.url));
  const peak = Math.max(peakBytes, memory.peakBytes);
  return { attack, survived, replies: target.replies, honest: report, peakBytes: peak };
}

async function isAlive(url: string): Promise<boolean> {
  return (await fetch(`${url}/healthz`).catch(() => undefined))?.status === 200;
}

async function startHonest(url: string, key: string) {
  const program = join(packageRoot, "dist/test/attack/honest-child.js");
  const child = spawn(process.execPath, [program, url, key], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  await once(lines, "line");
  const report = once(lines, "line");
  return {
    async end(): Promise<HonestReport> {
      child.stdin.end();
      const [text] = await report;
      return JSON.parse(String(text)) as HonestReport;
    },
  };
}
