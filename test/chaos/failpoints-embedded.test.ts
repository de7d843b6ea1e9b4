import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import t from "tap";
import type { Failpoint } from "../../core/process/failpoint.ts";
import type { Customer } from "../support/admin.ts";
import { ArmedGateway, refusingPlugin } from "../support/armed.ts";
import { startGateway } from "../support/gateway.ts";
import { assertReconciled } from "../support/proof.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";
import { type Claim, CREDIT_VND, call, crash } from "./failpoint-calls.ts";
import { customerAt, DRIVEN, failpointOptions } from "./failpoint-gateways.ts";
import { prove } from "./failpoint-proof.ts";

let simulator: TestSimulator;
let plugin: string;

t.before(async () => {
  simulator = await startTestSimulator();
  plugin = refusingPlugin();
});

t.teardown(async () => {
  await simulator.stop();
  rmSync(dirname(plugin), { recursive: true });
});

const options = (stores: Readonly<Record<string, string>>) =>
  failpointOptions(simulator, plugin, stores);

/**
 * Returns true for a point that a start reaches too, with the data that the previous run has left.
 */
function isReachedAtStart(point: Failpoint): boolean {
  return point.startsWith("commit.") || point.startsWith("wallet.");
}

/**
 * Crashes gateways with an embedded hold store at each of these points, one after the other, on a
 * data folder and a database of their own: each such gateway locks the balances of its ledger.
 */
async function crashInTurn(points: readonly Failpoint[]): Promise<void> {
  const hot = options({ hot: "embedded" });
  const first = await startGateway(hot);
  const customers = new Map<Failpoint, Customer>();
  for (const point of points) customers.set(point, await customerAt(first));
  assert.equal(await first.stop(), 0);
  const how = { ...hot, data: first.data };
  const claims: Claim[] = [];
  for (const [point, customer] of customers) {
    const { armed, claim } = await crash(point, how, customer);
    claims.push(claim);
    // Otherwise the next start recovers from this crash, and then crashes itself.
    if (isReachedAtStart(point)) {
      await armed.startUnarmed();
      await prove(armed.gateway, claim);
      assert.equal(await armed.gateway.stop(), 0);
    }
    await armed.gateway.close();
  }
  await first.start();
  for (const claim of claims) await prove(first, claim);
  await assertReconciled(first);
  await first.close();
}

t.test("a gateway that dies between two steps of money, with an embedded hold store", async (t) => {
  t.test("loses nothing over a restart", async () => {
    const atStart = DRIVEN.filter(isReachedAtStart);
    const others = DRIVEN.filter((point) => !isReachedAtStart(point));
    await Promise.all([crashInTurn(atStart), crashInTurn(others)]);
  });

  for (const point of ["commit.committed", "post.after"] as const) {
    t.test(`loses nothing over a restart: everything embedded, ${point}`, async () => {
      const armed = await ArmedGateway.start(
        point,
        options({ hot: "embedded", ledger: "embedded" }),
      );
      // With an embedded ledger, only its own gateway can create customers.
      const customer = await customerAt(armed.gateway);
      const done = await call(armed.gateway, customer);
      await armed.died();
      await armed.startUnarmed();
      await prove(armed.gateway, { what: point, customer, creditVnd: CREDIT_VND, ...done });
      await assertReconciled(armed.gateway);
      await armed.gateway.close();
    });
  }
});
