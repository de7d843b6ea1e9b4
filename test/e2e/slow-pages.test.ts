import postgres from "postgres";
import t from "tap";
import { admin, createCustomer } from "../support/admin.ts";
import { startGateway } from "../support/gateway.ts";
import { callOnce } from "../support/outage.ts";
import { startPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const CONNECTIONS = 5;

t.test("pages that wait for a locked table hold up no call and no commit", async (t) => {
  const database = await startPostgres();
  const gateway = await startGateway({
    config: { stores: { ledger: database.url, connections: CONNECTIONS } },
  });
  const sql = postgres(database.url, { max: 2 });
  t.teardown(async () => {
    await gateway.close();
    await sql.end();
    await database.stop();
  });
  const customer = await createCustomer(gateway, { creditVnd: 100 });
  const pages: Promise<unknown>[] = [];
  await sql.begin(async (locked) => {
    await locked`lock table bank_transfers in access exclusive mode`;
    for (let page = 0; page <= CONNECTIONS; page += 1) {
      pages.push(admin(gateway, "GET", "/transfers").catch(() => {}));
    }
    let [waited, looks] = [0, 0];
    await until("all pages wait that can", async () => {
      const { length } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      looks = length > 0 && length === waited ? looks + 1 : 0;
      waited = length;
      return looks === 20;
    });
    // The first call of this customer: its key and its wallet are loaded.
    const call = await callOnce(gateway, customer, 0);
    t.equal(call.status, 200, JSON.stringify(call.body));
    const committed = async () => (await sql`select from usage_records`).length === 1;
    await until("the call is committed", committed);
    t.equal((await fetch(`${gateway.url}/readyz`)).status, 200);
  });
  await Promise.all(pages);
});
