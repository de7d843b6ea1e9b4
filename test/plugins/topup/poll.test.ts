import t from "tap";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import {
  type ListedTransaction,
  SEPAY_TOKEN,
  type SepayApi,
  startSepayApi,
} from "../../support/sepay.ts";
import { until } from "../../support/until.ts";
import { bootTopups, type InProcess } from "./in-process.ts";
import { BANK, notify, order, transfer } from "./topups.ts";

const MINUTE_MS = 60_000;

/** A time in Vietnam, as SePay writes it. */
const vietnam = (ms: number) =>
  new Date(ms + 7 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");

let ids = 700_000 + 1_000 * process.pid;

function listed(changes: Partial<ListedTransaction> = {}, minutesAgo = 60): ListedTransaction {
  return {
    id: String(++ids),
    transaction_date: vietnam(Date.now() - minutesAgo * MINUTE_MS),
    account_number: BANK.account_number,
    amount_in: "100000.00",
    amount_out: "0.00",
    transaction_content: "",
    reference_number: `FT${ids}`,
    ...changes,
  };
}

t.test("SePay's list", async (t) => {
  let sepay: SepayApi;
  let gateway: InProcess;
  t.before(async () => {
    sepay = await startSepayApi();
    gateway = await bootTopups({ poll: { token: SEPAY_TOKEN, url: sepay.url } });
    await polled();
  });
  t.teardown(async () => {
    await gateway.close();
    await sepay.stop();
  });

  const query = <Row extends object>(text: string) =>
    gateway.gateway.services.database.query<Row>(text);

  /** Waits until the next turn has ended, and returns its failures in a row. */
  async function polled(): Promise<number> {
    await query("update transfer_poll set next_at = now()");
    let failures = -1;
    await until("SePay's list was read", async () => {
      const [row] = await query<{ failures: number }>(
        // A turn that goes on ends after half an hour, and one that failed is repeated after 10 or 20 minutes.
        `select failures from transfer_poll
        where next_at > now() + interval '1 minute' and next_at < now() + interval '25 minutes'`,
      );
      failures = row?.failures ?? -1;
      return row !== undefined;
    });
    return failures;
  }

  const stateOf = async (id: string) =>
    (await admin(gateway, "GET", `/transfers/${id}`)).body["state"];

  t.test("brings what was not notified, once, and nothing else", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const { code } = await order(gateway, accountId);
    const lost = listed({ transaction_content: code });
    const came = listed({ transaction_content: code });
    const foreign = listed({ account_number: "999" });
    const out = listed({ amount_in: "0.00", amount_out: "100000.00" });
    const recent = listed({ transaction_content: code }, 0);
    sepay.transactions.push(lost, came, foreign, out, recent);
    const told = (one: ListedTransaction) =>
      notify(
        gateway,
        transfer({
          ...{ id: Number(one.id), content: code, transactionDate: one.transaction_date },
          referenceCode: one.reference_number,
        }),
      );
    await told(came);
    for (let n = 0; n < 2; n++) t.equal(await polled(), 0);
    t.equal(await stateOf(lost.id), "credited");
    for (const other of [foreign, out, recent]) t.equal(await stateOf(other.id), undefined);
    // Its notification comes after all.
    t.equal((await told(lost)).status, 200);
    t.equal((await wallet(gateway, accountId)).balance, "200000");
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    t.match(metrics, /^tollgate_transfers_total\{result="found"\} 1$/m);
    t.match(metrics, /^tollgate_last_transfer_poll_timestamp_seconds [1-9]/m);
    const { body } = await admin(gateway, "GET", `/transfers/${lost.id}`);
    t.strictSame([body["source"], body["amount_vnd"]], ["poll", "100000"]);
  });

  t.test("is read again, later after each failure, until SePay replies", async (t) => {
    sepay.status = 500;
    const nextMinutes = async () => {
      const [row] = await query<{ minutes: number }>(
        "select round(extract(epoch from next_at - now()) / 60)::integer as minutes from transfer_poll",
      );
      return row?.minutes;
    };
    t.strictSame([await polled(), await nextMinutes()], [1, 10]);
    t.strictSame([await polled(), await nextMinutes()], [2, 20]);
    const { accountId } = await createCustomer(gateway);
    const { code } = await order(gateway, accountId);
    const lost = listed({ transaction_content: code });
    sepay.transactions.push(lost);
    sepay.status = 200;
    t.strictSame([await polled(), await nextMinutes()], [0, 10]);
    t.equal(await stateOf(lost.id), "credited");
  });

  t.test("is read in parts if it is long", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const { code } = await order(gateway, accountId);
    // The oldest: SePay leaves it out of a list that is too long.
    const lost = listed({ transaction_content: code }, 1_200);
    const others = Array.from({ length: 1_500 }, (_, n) =>
      listed({ amount_in: "0.00", amount_out: "5000.00" }, 100 + n / 2),
    );
    sepay.transactions.push(lost, ...others);
    const before = sepay.requests.length;
    t.equal(await polled(), 0);
    t.equal(await stateOf(lost.id), "credited");
    t.ok(sepay.requests.length - before <= 8, `${sepay.requests.length - before} requests`);
  });
});

t.test("a wrong token for SePay's list is a failure", async (t) => {
  const sepay = await startSepayApi();
  const gateway = await bootTopups({ poll: { token: "a-token-that-is-wrong", url: sepay.url } });
  try {
    await until("the failure is counted", async () => {
      const [row] = await gateway.gateway.services.database.query<{ failures: number }>(
        "select failures from transfer_poll where failures > 0 and polled_at is null",
      );
      return row !== undefined;
    });
    t.equal(sepay.requests.length, 0);
  } finally {
    await gateway.close();
    await sepay.stop();
  }
});
