import t from "tap";
import { connect } from "../../../../core/database/client.ts";
import { migrate } from "../../../../core/database/migrate.ts";
import { completeThrough, now } from "../../../../core/money/ledger/credit.ts";
import { recordedLog } from "../../../support/log.ts";
import { OWN_LOCKS, startPostgres } from "../../../support/postgres.ts";

/** As during a rotation of credentials: gateways have two roles, and neither may see what the other does. */
t.test("the ledger is not complete while another role may commit a movement", async (t) => {
  const { log } = recordedLog();
  const postgres = await startPostgres();
  const open = (url: string) =>
    connect({ server: { url }, connectionsMax: 2, statementTimeoutMs: 60_000, log });
  const own = open(postgres.url);
  await migrate(own);
  const role = `gateway_${new URL(postgres.url).pathname.slice(-12)}`;
  await own.script(`create role ${role} login password 'for-a-test';
    grant all on all tables in schema public to ${role}`);
  const url = new URL(postgres.url);
  [url.username, url.password] = [role, "for-a-test"];
  const other = open(url.href);
  t.teardown(async () => {
    await other.end(1);
    await own.script(`drop owned by ${role}; drop role ${role}`);
    await own.end(1);
    await postgres.stop();
  });
  t.ok((await completeThrough(other)) >= (await now(other)) - 60_000, "nothing runs");
  const account = "01900000-0000-7000-8000-00000000aaaa";
  const beganMs = await now(other);
  const movement = own.script(`
    insert into accounts (id, email) values ('${account}', 'a@example.com');
    insert into wallets (account_id) values ('${account}');
    select credit_wallet('${account}', 'topup', 5, 'r1', null);
    do $$ begin
      while not exists (select from pg_class where relname = 'gate_is_open') loop end loop;
    end $$`);
  const running = `select from ${OWN_LOCKS} where locktype = 'transactionid' and pid <> pg_backend_pid()`;
  while ((await other.query(running)).length === 0);
  t.ok((await completeThrough(other)) < beganMs);
  await open(postgres.url).query("create table gate_is_open ()");
  await movement;
  t.ok((await completeThrough(other)) > beganMs);
});
