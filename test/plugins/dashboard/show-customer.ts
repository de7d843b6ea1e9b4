import { credit } from "../../support/admin.ts";
import { signedUp } from "../../support/browser-session.ts";
import type { DashboardGateway } from "../../support/dashboard.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { notify, transfer } from "../topup/topups.ts";

const KEYS = ["Máy chủ chính", "Laptop", "Bot hỗ trợ khách hàng"];

/** A customer with keys, money and thirty days of calls, for pages that look used. */
export async function showCustomer(
  { gateway, mailServer }: DashboardGateway,
  email = "minh.tran@example.com",
) {
  const session = await signedUp(gateway, mailServer, email);
  const ids: string[] = [];
  for (const name of KEYS) {
    const { body } = await session.post("/keys", { name });
    ids.push(`'${body.id}'`);
  }
  await credit(gateway, session.accountId, 1_000_000);
  await ledgerSql(gateway, callsOf(session.accountId, ids));
  await ledgerSql(gateway, refusedCallsOf(session.accountId, ids));
  const paid = (await session.post("/top-ups", { amount_vnd: 200_000 })).body;
  await notify(
    gateway,
    transfer({ transferAmount: 200_000, content: `MB 0123 ${paid.code} chuyen tien` }),
  );
  const open = (await session.post("/top-ups", { amount_vnd: 500_000 })).body;
  return { session, orderId: String(open.id) };
}

/**
 * Calls of the last thirty days with six models and all keys, more of them on workdays. A quarter of those to the first
 * model use another name, so that each page of them has some on any day of the week.
 */
function callsOf(accountId: string, keyIds: readonly string[]): string {
  return `
    select make_usage_partition(now() - interval '31 days');
    insert into usage_records
    select
      (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7abc8def' ||
        lpad(to_hex(n), 12, '0'))::uuid,
      at, '${accountId}', (array[${keyIds.join(",")}]::uuid[])[1 + n % ${keyIds.length}],
      case when n % 3 = 0 then '/v1/messages' else '/v1/chat/completions' end,
      models.model, case when models.place = 0 and n % 4 = 0 then 'claude-3-opus-latest' end, 'anthropic', tokens, 0, 0, tokens / 4, 0, 0,
      case when status = 200 then tokens * 5 / 4 * models.price else 0 end, 0, 100,
      600 + (n * 7919) % 9000, 300, status, true,
      case when status = 200 then 'complete' else 'refused' end, false, 'mtok', '0123abcd', 36000000000,
      null, null, null, null, null, case when status = 200 then tokens * 5 / 4 * models.cost else 0 end
    from (
      select n, date_trunc('milliseconds', now() - interval '30 days' * n / 1400) as at,
        400 + (n * 104729) % 6000 as tokens, case when n % 97 = 5 then 502 else 200 end as status
      from generate_series(0, 1399) n
    ) calls
    join (values
      (0, 'claude-opus-5-5', 36000, 27000), (1, 'claude-sonnet-5-5', 22000, 17500), (2, 'gpt-5.6-sol', 26000, 19000),
      (3, 'gemini-3.5-flash', 4000, 3100), (4, 'claude-haiku-5-5', 9000, 9400), (5, 'deepseek-v4-flash', 1500, null)
    ) models (place, model, price, cost)
      on models.place = (array[0, 1, 0, 2, 3, 1, 4, 0, 5, 1])[1 + (n * 31) % 10]
    where extract(isodow from at at time zone 'Asia/Ho_Chi_Minh') < 6 or n % 3 = 0
    on conflict do nothing;`;
}

/** Refused calls of two days, and one of them with its id. */
function refusedCallsOf(accountId: string, [server = "", laptop = ""]: readonly string[]): string {
  const last = `jsonb_build_array(jsonb_build_object(
    'callId', '019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071', 'at', now(), 'keyId', ${server},
    'endpoint', '/v1/messages', 'model', 'claude-opus-5-5', 'status', 402,
    'cause', 'insufficient_balance'))`;
  return `
    insert into refused_calls
    select '${accountId}', (now() at time zone 'Asia/Ho_Chi_Minh')::date - ago, key_id::uuid, status, cause, calls, now()
    from (values
      (0, ${server}, 402, 'insufficient_balance', 37), (0, ${laptop}, 400, 'messages', 2),
      (1, ${server}, 429, 'rate_limit_exceeded', 1204), (1, ${laptop}, 404, 'model_not_found', 5)
    ) refused (ago, key_id, status, cause, calls);
    insert into last_refused_calls values ('${accountId}', ${last});`;
}
