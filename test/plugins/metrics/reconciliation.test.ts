import assert from "node:assert/strict";
import t from "tap";
import { connect } from "../../../core/database/client.ts";
import { createCustomer } from "../../support/admin.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { recordedLog } from "../../support/log.ts";
import { untilServed } from "../../support/outage.ts";
import { startProduction } from "../../support/production.ts";
import { until } from "../../support/until.ts";

const CUSTOMERS = 60;

t.test("two gateways that reconcile on a schedule", async (t) => {
  const parts = await startProduction({ plugins: { metrics: { reconcile_seconds: 1 } } });
  const { log } = recordedLog();
  const server = { url: parts.postgres.url };
  const sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 0, log });
  t.teardown(async () => {
    await sql.end(1);
    await parts.close();
  });

  async function gauge(gateway: TestGateway, name: string): Promise<number> {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return Number(new RegExp(`^tollgate_${name} (\\S+)$`, "m").exec(text)?.[1]);
  }

  const everywhere = (name: string, expected: number) =>
    until(`${name} is ${expected} in both processes`, async () => {
      const values = await Promise.all(parts.gateways.map((gateway) => gauge(gateway, name)));
      return values.every((value) => value === expected);
    });

  t.test("find no drift while calls run, and report when they last ran", async () => {
    const [first, second] = parts.gateways;
    assert.ok(first && second);
    const customers = await Promise.all(
      Array.from({ length: CUSTOMERS }, () => createCustomer(first, { creditVnd: 10 })),
    );
    await everywhere("drifting_wallets", 0);
    // The first call of each reads its key and wallet, and may be refused on a busy machine.
    const calls = customers.map((customer, turn) =>
      untilServed(turn % 2 === 0 ? first : second, customer),
    );
    await Promise.all(calls);
    const before = await gauge(second, "reconciled_timestamp_seconds");
    await until(
      "both reconcile again",
      async () => (await gauge(second, "reconciled_timestamp_seconds")) > before,
    );
    await everywhere("drifting_wallets", 0);
  });

  t.test(
    "report a drift of 1 µđ in both processes, with its row in the log of the one that found it",
    async (t) => {
      const [row] = await sql.query<{ id: string }>(
        `update wallets set balance = balance + 1
      where account_id = (select account_id from wallets limit 1) returning account_id as id`,
      );
      await everywhere("drifting_wallets", 1);
      const told = () =>
        parts.gateways.flatMap(({ logs }) =>
          logs.split("\n").filter((line) => line.includes("wallets drift; see npm run admin")),
        );
      await until("it is logged", () => told().length > 0);
      t.match(told()[0] ?? "", new RegExp(`"accountId":"${row?.id}".*"driftVnd":"0.000001"`));
      await sql.query("update wallets set balance = balance - 1 where account_id = $1", [
        String(row?.id),
      ]);
      await everywhere("drifting_wallets", 0);
    },
  );
});
