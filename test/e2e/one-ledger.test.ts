import t from "tap";
import { createCustomer } from "../support/admin.ts";
import { startGateway } from "../support/gateway.ts";
import { callOnce } from "../support/outage.ts";
import { startPostgres } from "../support/postgres.ts";
import { startRedisServer } from "../support/redis.ts";

t.test("two gateways with embedded balances do not sell the same money", async (t) => {
  const postgres = await startPostgres();
  const redis = await startRedisServer();
  const stores = { ledger: postgres.url };
  const first = await startGateway({ config: { stores } });
  const customer = await createCustomer(first, { creditVnd: 100 });
  t.equal((await callOnce(first, customer, 0)).status, 200);

  const refused = {
    message: new RegExp(`process ${first.pid} on .* with data folder ${first.data}`),
  };
  await t.rejects(startGateway({ config: { stores } }), refused);
  await t.rejects(startGateway({ config: { stores: { ...stores, hot: redis.url } } }), refused);
  t.equal((await callOnce(first, customer, 1)).status, 200);

  // After a kill, only its journal has what it posted and did not commit.
  await first.kill9();
  await t.rejects(startGateway({ config: { stores } }), refused);
  await first.start();
  t.equal((await callOnce(first, customer, 2)).status, 200);
  t.equal(await first.stop(), 0);

  const second = await startGateway({ config: { stores } });
  t.equal((await callOnce(second, customer, 3)).status, 200);
  await second.close();
  await first.close();
  await redis.stop();
  await postgres.stop();
});
