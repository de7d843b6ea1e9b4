import assert from "node:assert/strict";
import t from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import { Crediting } from "../../../plugins/topup/crediting.ts";
import { transferOf } from "../../../plugins/topup/transfers.ts";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { bootTopups } from "./in-process.ts";
import { as, notify, order, transfer } from "./topups.ts";

const HOUR_MS = 3_600_000;

/**
 * Every state in which a transfer can arrive, and the result for it, for the order (100,000 đ) and
 * for the wallet. In contents, A is the code of the customer's order, B that of a second one, X a
 * code of no order.
 *
 * `before`: the order is `open`, `expired`, `cancelled` or already `paid` in full.
 */
const STATES = `
before    | in/out | amount        | account    | content              | transfer  | cause             | order     | balance
open      | in     | 100000        | ours       | A                    | credited  | code              | paid      | 100000
open      | in     | 100000        | ours       | (a, in its own way)  | credited  | code              | paid      | 100000
open      | in     | 100000        | virtual    | A                    | credited  | code              | paid      | 100000
open      | in     | 99999         | ours       | A                    | credited  | code              | underpaid | 99999
open      | in     | 1             | ours       | A                    | credited  | code              | underpaid | 1
open      | in     | 100001        | ours       | A                    | credited  | code              | overpaid  | 100001
open      | in     | 2000000000    | ours       | A                    | credited  | code              | overpaid  | 2000000000
expired   | in     | 100000        | ours       | A                    | credited  | code              | paid      | 100000
cancelled | in     | 100000        | ours       | A                    | credited  | code              | paid      | 100000
paid      | in     | 100000        | ours       | A                    | credited  | code              | overpaid  | 200000
open      | in     | "100000"      | ours       | A                    | credited  | code              | paid      | 100000
open      | in     | 100000.0      | ours       | A                    | credited  | code              | paid      | 100000
open      | in     | 100000        | ours       | A A                  | credited  | code              | paid      | 100000
open      | in     | 100000        | ours       | A X                  | credited  | code              | paid      | 100000
open      | in     | 100000        | ours       | A B                  | unmatched | several_orders    | open      | 0
open      | in     | 100000        | ours       | X                    | unmatched | unknown_code      | open      | 0
open      | in     | 100000        | ours       | thank you            | unmatched | no_code           | open      | 0
open      | in     | 100000        | ours       |                      | unmatched | no_code           | open      | 0
open      | in     | 100000        | other      | A                    | unmatched | wrong_account     | open      | 0
open      | in     | 100000        | none       | A                    | unmatched | wrong_account     | open      | 0
open      | out    | 100000        | ours       | A                    | ignored   | outgoing          | open      | 0
open      | both   | 100000        | ours       | A                    | unmatched | unknown_direction | open      | 0
open      | in     | 0             | ours       | A                    | unmatched | bad_amount        | open      | 0
open      | in     | -100000       | ours       | A                    | unmatched | bad_amount        | open      | 0
open      | in     | 100000.5      | ours       | A                    | unmatched | bad_amount        | open      | 0
open      | in     | 1e300         | ours       | A                    | unmatched | bad_amount        | open      | 0
open      | in     | 9007199255    | ours       | A                    | unmatched | bad_amount        | open      | 0
open      | in     | "1e5"         | ours       | A                    | unmatched | bad_amount        | open      | 0
open      | in     | null          | ours       | A                    | unmatched | bad_amount        | open      | 0
`;

interface State {
  readonly before: string;
  readonly "in/out": string;
  readonly amount: string;
  readonly account: string;
  readonly content: string;
  readonly transfer: string;
  readonly cause: string;
  readonly order: string;
  readonly balance: string;
}

function rowsOf(table: string): State[] {
  const [head = "", ...lines] = table.trim().split("\n");
  const names = head.split("|").map((name) => name.trim());
  return lines.map((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const at = (name: string) => cells[names.indexOf(name)] ?? "";
    return {
      before: at("before"),
      "in/out": at("in/out"),
      amount: at("amount"),
      account: at("account"),
      content: at("content"),
      transfer: at("transfer"),
      cause: at("cause"),
      order: at("order"),
      balance: at("balance"),
    };
  });
}

const ACCOUNTS: Readonly<Record<string, JsonObject>> = {
  ours: {},
  virtual: { accountNumber: "9999000011", subAccount: "0123499999" },
  other: { accountNumber: "9999000011" },
  none: { accountNumber: null },
};

t.test("a transfer", async (t) => {
  const gateway = await bootTopups();
  t.teardown(() => gateway.close());

  for (const row of rowsOf(STATES)) {
    const { before: state, "in/out": direction, amount, account, content } = row;
    t.test(
      `${direction} of ${amount} to ${account} with "${content}" on ${state}: ${row.transfer}`,
      async (t) => {
        const { accountId } = await createCustomer(gateway);
        const mine = await order(gateway, accountId);
        const second = await order(gateway, accountId);
        if (state === "paid") {
          t.equal((await notify(gateway, transfer({ content: mine.code }))).status, 200);
        }
        if (state === "cancelled") {
          const { status } = await as(gateway, accountId, "POST", `/top-ups/${mine.id}/cancel`, {});
          t.equal(status, 200);
        }
        if (state === "expired") gateway.clock.offsetMs += 25 * HOUR_MS;
        const before = await as(gateway, accountId, "GET", `/top-ups/${mine.id}`);
        t.equal(before.body["status"], state);

        const mangled = mine.code.toLowerCase().replace(/(..)/g, "$1-");
        const codes = new Map([
          ["(a, in its own way)", `mbvcb 12.${mangled}x`],
          ["A", mine.code],
          ["B", second.code],
          ["X", "TG34679ACD"],
        ]);
        const text = content.replace(/\(.*\)|\b[ABX]\b/g, (word) => codes.get(word) ?? "");
        const told = transfer({ ...ACCOUNTS[account], content: text, transferType: direction });
        // Written as text, since JavaScript would print some of these amounts differently.
        const written = JSON.stringify({ ...told, transferAmount: "@" }).replace('"@"', amount);
        const answer = await notify(gateway, written);
        t.strictSame(answer, { status: 200, body: { success: true } });

        const { body: kept } = await admin(gateway, "GET", `/transfers/${String(told["id"])}`);
        t.strictSame([kept["state"], kept["cause"]], [row.transfer, row.cause]);
        t.equal(kept["payload"], written, "the notification is stored unchanged");
        const now = await as(gateway, accountId, "GET", `/top-ups/${mine.id}`);
        t.equal(now.body["status"], row.order);
        t.equal(now.body["received_vnd"], row.balance);
        t.equal(now.body["paid_at"] !== null, row.balance !== "0");
        t.equal((await wallet(gateway, accountId)).available, row.balance);

        // The same notification again changes nothing.
        t.strictSame(await notify(gateway, written), answer);
        t.equal((await wallet(gateway, accountId)).balance, row.balance);
        gateway.clock.offsetMs = 0;
      },
    );
  }

  t.test("that cannot be read at all is stored for an operator", async (t) => {
    for (const body of [
      "",
      "no JSON",
      "[]",
      "{}",
      '{"id":-1}',
      '{"id":"../x"}',
      '{"id":1e300}',
      "\u0000",
    ]) {
      t.strictSame(await notify(gateway, body), { status: 200, body: { success: true } });
      t.strictSame(await notify(gateway, body), { status: 200, body: { success: true } });
    }
    const { body } = await admin(gateway, "GET", "/transfers?state=unmatched&limit=8");
    const kept = Array.isArray(body["list"]) ? body["list"] : [];
    t.strictSame(new Set(kept.map((one: JsonObject) => one["cause"])), new Set(["unreadable"]));
    t.equal(new Set(kept.map((one: JsonObject) => one["id"])).size, 8);
  });

  t.test("with text that Postgres cannot store is still stored", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const mine = await order(gateway, accountId);
    const content = `\u0000\ud800 ${mine.code}\u0007 'x"; drop table bank_transfers {}\\`;
    const told = transfer({ content, gateway: "\u0000", referenceCode: "x".repeat(50_000) });
    t.equal((await notify(gateway, told)).status, 200);
    t.equal((await wallet(gateway, accountId)).balance, "100000");
  });

  t.test("with the code of a customer who has left waits for an operator", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const mine = await order(gateway, accountId);
    await gateway.gateway.services.accounts.setStatus(accountId, "closed");
    const told = transfer({ content: mine.code });
    for (const _ of [1, 2]) t.equal((await notify(gateway, told)).status, 200);
    const path = `/transfers/${String(told["id"])}`;
    const { body: kept } = await admin(gateway, "GET", path);
    t.match(kept, { state: "unmatched", cause: "closed_account", account: accountId });
    t.equal((await wallet(gateway, accountId)).balance, "0");
    // The sweep of another gateway read it while it was matched.
    const { services } = gateway.gateway;
    const read = await transferOf(services.database, String(told["id"]));
    assert.ok(read);
    await new Crediting(services).creditSoon({ ...read, state: "matched" });
    t.match((await admin(gateway, "GET", path)).body, { state: "unmatched" });
    t.equal((await wallet(gateway, accountId)).balance, "0");
    // An operator who assigns it has decided.
    const decision = { account: accountId, reason: "pays a debt" };
    t.equal((await admin(gateway, "POST", `${path}/assign`, decision)).status, 200);
    t.equal((await wallet(gateway, accountId)).balance, "100000");
  });

  t.test("of a customer who leaves between its credit and its mark is credited", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const mine = await order(gateway, accountId);
    const { accounts, wallets } = gateway.gateway.services;
    const told = transfer({ content: mine.code });
    const id = String(told["id"]);
    await wallets.current.credit({
      ...{ accountId, amountMicroVnd: 100_000_000_000n, kind: "topup", reason: mine.code },
      reference: `transfer:${id}`,
    });
    await accounts.setStatus(accountId, "closed");
    await notify(gateway, told);
    t.match((await admin(gateway, "GET", `/transfers/${id}`)).body, { state: "credited" });
    t.equal((await wallet(gateway, accountId)).balance, "100000");
  });

  t.test("that comes under the id of another one waits for an operator", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const mine = await order(gateway, accountId);
    const told = transfer({ content: mine.code });
    t.equal((await notify(gateway, told)).status, 200);
    // The same transfer, told in other words.
    t.equal((await notify(gateway, { ...told, content: "something else" })).status, 200);
    const others = [
      { ...told, transferAmount: 5_000_000 },
      { ...told, transferType: "out" },
      { ...told, accountNumber: "1" },
    ];
    for (const other of [...others, ...others]) {
      t.strictSame(await notify(gateway, other), { status: 200, body: { success: true } });
    }
    t.equal((await wallet(gateway, accountId)).balance, "100000");
    const { body } = await admin(gateway, "GET", "/transfers?limit=4");
    const kept: JsonObject[] = Array.isArray(body["list"]) ? body["list"] : [];
    t.strictSame(
      kept.map(({ amount_vnd, state, cause }) => [amount_vnd, state, cause]),
      [
        ["100000", "unmatched", "wrong_account"],
        ["100000", "ignored", "outgoing"],
        ["5000000", "unmatched", "known_id"],
        ["100000", "credited", "code"],
      ],
    );
    const answer = await admin(gateway, "POST", `/transfers/${kept[2]?.["id"]}/assign`, {
      account: accountId,
      reason: "the bank has both",
    });
    t.equal(answer.status, 200);
    t.equal((await wallet(gateway, accountId)).balance, "5100000");
    t.equal((await admin(gateway, "GET", "/reconcile")).body["drift"], false);
  });
});
