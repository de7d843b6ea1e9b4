import assert from "node:assert/strict";
import t from "tap";
import { noOperators } from "../../../core/plugin/slot.ts";
import { isObject, type JsonObject, parseJson } from "../../../core/process/json.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { unmatchedTransfers } from "../../../plugins/topup/transfers.ts";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { until } from "../../support/until.ts";
import { runCli } from "../admin/cli-runs.ts";
import { bootTopups } from "./in-process.ts";
import { as, notify, order, transfer } from "./topups.ts";

const BECAUSE = { reason: "wrote to support" };

t.test("an unmatched transfer", async (t) => {
  const gateway = await bootTopups();
  t.teardown(() => gateway.close());

  async function waiting(changes: JsonObject = {}): Promise<string> {
    const told = transfer({ content: "thank you", ...changes });
    assert.equal((await notify(gateway, told)).status, 200);
    return String(told["id"]);
  }

  const decide = (id: string, what: "assign" | "ignore" | "return", body: object) =>
    admin(gateway, "POST", `/transfers/${id}/${what}`, body);

  const byHand = (accountId: string, amountMicroVnd: bigint, reference: string) =>
    gateway.gateway.services.wallets.current.credit({
      ...{ accountId, amountMicroVnd, reference, kind: "topup", reason: null },
    });

  const codeOf = ({ body }: { body: Record<string, unknown> }) =>
    isObject(body["error"]) ? body["error"]["code"] : undefined;

  t.test("is counted until an operator has decided", async (t) => {
    const { database } = gateway.gateway.services;
    const counted = async () => (await unmatchedTransfers(database)).count;
    const before = await counted();
    const ids = [await waiting(), await waiting()];
    t.equal(await counted(), before + 2);
    for (const id of ids) await decide(id, "ignore", BECAUSE);
    t.equal(await counted(), before);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    t.match(metrics, /^# TYPE tollgate_unmatched_transfers gauge$/m);
  });

  t.test("sets the time of the last transfer, so that silence can be alerted", async (t) => {
    const floorMs = Date.now();
    await waiting();
    const line = /^tollgate_last_transfer_timestamp_seconds (\S+)$/m;
    await until("the metric has the time of this transfer", async () => {
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
      return Number(line.exec(metrics)?.[1] ?? 0) * 1_000 >= floorMs - 1_000;
    });
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    t.ok(Number(line.exec(metrics)?.[1]) * 1_000 <= Date.now() + 1_000);
  });

  t.test("is one of the orders of a customer, which are listed by account", async (t) => {
    const customer = await createCustomer(gateway);
    const older = await order(gateway, customer.accountId);
    const { code, id } = await order(gateway, customer.accountId);
    const path = `/accounts/${customer.accountId}/orders`;
    const first = await admin(gateway, "GET", `${path}?limit=1`);
    t.match(first.body["list"], [{ code, status: "open", received_vnd: "0" }]);
    const rest = await admin(gateway, "GET", `${path}?limit=5&before=${id}`);
    t.match(rest.body["list"], [{ code: older.code, account: customer.accountId }]);
  });

  t.test("is given to the customer who is suggested: by code, amount or payer", async (t) => {
    const [lan, minh] = [await createCustomer(gateway), await createCustomer(gateway)];
    const paid = await order(gateway, lan.accountId, 200_000);
    const payer = "NGUYEN THI LAN chuyen tien";
    await notify(gateway, transfer({ transferAmount: 200_000, content: `${paid.code} ${payer}` }));
    const mine = await order(gateway, minh.accountId, 345_000);
    const typed = `${mine.code.slice(0, -1)}0`;
    const suggested = async (changes: JsonObject) => {
      const { body } = await admin(
        gateway,
        "GET",
        `/transfers/${await waiting(changes)}/suggestions`,
      );
      return body["list"];
    };
    t.match(await suggested({ transferAmount: 345_000, content: `MB ${typed} ck` }), [
      { why: ["code", "amount"], email: minh.email, order: mine.code, status: "open" },
    ]);
    t.match(await suggested({ transferAmount: 50_000, content: `FT0123 ${payer}` }), [
      { why: ["payer"], account: lan.accountId, order: null },
    ]);
    t.strictSame(await suggested({ transferAmount: 51_000, content: "chuyen tien" }), []);
    // A code of two that is exact comes first.
    const both = { transferAmount: 52_000, content: `${typed} ${paid.code}`, accountNumber: "777" };
    t.match(await suggested(both), [
      { why: ["exact_code"], order: paid.code, status: "paid" },
      { why: ["code"], order: mine.code },
    ]);
  });

  t.test("is credited once, to the account that an operator names", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const id = await waiting();
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    t.match(metrics, /^tollgate_transfers_total\{result="unmatched"\} [1-9]/m);
    for (let n = 0; n < 2; n++) {
      const { status, body } = await decide(id, "assign", { account: accountId, ...BECAUSE });
      t.equal(status, 200);
      t.strictSame(
        [body["state"], body["account"], body["order"], body["cause"], body["decision"]],
        ["credited", accountId, null, "no_code", BECAUSE.reason],
      );
    }
    t.equal((await wallet(gateway, accountId)).available, "100000");
    const other = await createCustomer(gateway);
    const again = await decide(id, "assign", { account: other.accountId, ...BECAUSE });
    t.strictSame([again.status, codeOf(again)], [409, "transfer_not_unmatched"]);
    t.equal((await decide(id, "ignore", BECAUSE)).status, 409);
    t.equal((await wallet(gateway, other.accountId)).available, "0");
  });

  t.test("pays the order whose code an operator names", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const mine = await order(gateway, accountId);
    const id = await waiting();
    const answer = await decide(id, "assign", { order: mine.code.toLowerCase(), ...BECAUSE });
    t.strictSame([answer.status, answer.body["order"]], [200, mine.code]);
    const { body } = await as(gateway, accountId, "GET", `/top-ups/${mine.id}`);
    t.strictSame([body["status"], body["received_vnd"]], ["paid", "100000"]);
  });

  t.test("is assigned by one of two operators who decide at once", async (t) => {
    const customers = await Promise.all([1, 2, 3, 4].map(() => createCustomer(gateway)));
    const id = await waiting();
    const answers = await Promise.all(
      customers.map(({ accountId }) => decide(id, "assign", { account: accountId, ...BECAUSE })),
    );
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
    const balances = await Promise.all(
      customers.map(async ({ accountId }) => (await wallet(gateway, accountId)).balance),
    );
    t.strictSame(balances.sort(), ["0", "0", "0", "100000"]);
  });

  t.test("can be ignored if it is no top-up, and assigned later", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const id = await waiting();
    for (let n = 0; n < 2; n++) {
      const { status, body } = await decide(id, "ignore", BECAUSE);
      t.strictSame([status, body["state"]], [200, "ignored"]);
    }
    t.equal((await decide(id, "assign", { account: accountId, ...BECAUSE })).status, 200);
    t.equal((await wallet(gateway, accountId)).balance, "100000");
  });

  t.test(
    "needs a second person if it is large, also once it was ignored, and in a statement",
    async (t) => {
      const asked: bigint[] = [];
      const { approval } = noOperators;
      const large = 6_000_000;
      noOperators.approval = async ({ amountMicroVnd }) => {
        asked.push(amountMicroVnd);
        return refuse.as(428, "invalid_request_error", "wait", { code: "approval_needed" });
      };
      try {
        const { accountId } = await createCustomer(gateway);
        const to = { account: accountId, ...BECAUSE };
        for (const isIgnored of [false, true]) {
          const id = await waiting({ transferAmount: large });
          if (isIgnored) await decide(id, "ignore", BECAUSE);
          t.equal(codeOf(await decide(id, "assign", to)), "approval_needed");
        }
        const { code } = await order(gateway, accountId, large);
        const lines = [
          "Ngày giao dịch;Số bút toán;Ghi nợ;Ghi có;Nội dung",
          `2026-11-21;FT26325776;;${large + 20};nothing that is known`,
          `2026-11-21;FT26325777;;${large + 10};${code}`,
          `2026-11-21;FT26325778;;${large + 9};${code}`,
        ];
        const file = lines.join("\n");
        const send = (more: object) =>
          admin(gateway, "POST", "/transfers/import", { file, ...more });
        t.equal((await send({ dry_run: true })).status, 200);
        t.equal(codeOf(await send({})), "approval_needed");
        t.strictSame(
          asked,
          [large, large, large + 10].map((vnd) => BigInt(vnd) * 1_000_000n),
        );
        t.equal((await wallet(gateway, accountId)).balance, "0");
        noOperators.approval = approval;
        t.equal((await send({})).status, 200);
        t.equal((await wallet(gateway, accountId)).balance, String(2 * large + 19));
      } finally {
        noOperators.approval = approval;
      }
    },
  );

  t.test("is credited to no one once an operator has sent it back", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const to = { account: accountId, ...BECAUSE };
    for (const first of [undefined, "ignore"] as const) {
      const id = await waiting();
      if (first) await decide(id, first, BECAUSE);
      for (let n = 0; n < 2; n++) {
        const { status, body } = await decide(id, "return", BECAUSE);
        t.match([status, body], [200, { state: "returned", decision: BECAUSE.reason }]);
      }
      for (const [how, body] of [
        ["assign", to],
        ["ignore", BECAUSE],
      ] as const) {
        const answer = await decide(id, how, body);
        t.strictSame([answer.status, codeOf(answer)], [409, "transfer_not_unmatched"]);
      }
    }
    const credited = await waiting();
    await decide(credited, "assign", to);
    t.equal((await decide(credited, "return", BECAUSE)).status, 409, "a customer has it");
    const outgoing = await waiting({ transferType: "out" });
    t.equal((await decide(outgoing, "return", BECAUSE)).status, 409);
    t.equal((await wallet(gateway, accountId)).balance, "100000");
  });

  t.test("is not credited if the notification is not of incoming money", async (t) => {
    const { accountId } = await createCustomer(gateway);
    for (const changes of [{ transferAmount: 0 }, { transferType: "both" }]) {
      const id = await waiting(changes);
      const answer = await decide(id, "assign", { account: accountId, ...BECAUSE });
      t.strictSame([answer.status, codeOf(answer)], [409, "transfer_not_creditable"]);
    }
    const outgoing = await waiting({ transferType: "out" });
    t.equal((await decide(outgoing, "assign", { account: accountId, ...BECAUSE })).status, 409);
    t.equal((await wallet(gateway, accountId)).balance, "0");
  });

  t.test("stays unmatched if the wallet cannot take it", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: "9007199254" });
    const id = await waiting();
    const full = await decide(id, "assign", { account: accountId, ...BECAUSE });
    t.strictSame([full.status, codeOf(full)], [409, "credit_refused"]);
    t.equal((await admin(gateway, "GET", `/transfers/${id}`)).body["cause"], "out_of_range");

    // Something else was credited under the transfer's own reference.
    const other = await createCustomer(gateway);
    const mine = await order(gateway, other.accountId);
    const told = transfer({ content: mine.code });
    await byHand(other.accountId, 7_000_000n, `transfer:${told["id"]}`);
    t.equal((await notify(gateway, told)).status, 200);
    const { body } = await admin(gateway, "GET", `/transfers/${String(told["id"])}`);
    t.strictSame([body["state"], body["cause"]], ["unmatched", "reference_conflict"]);
    t.equal((await wallet(gateway, other.accountId)).balance, "7");
  });

  t.test("requires an existing owner, a reason and an operator's token", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const id = await waiting();
    const nobody = "00000000-0000-0000-0000-000000000000";
    for (const [body, status] of [
      [{ account: accountId }, 400],
      [{ account: accountId, reason: " " }, 400],
      [BECAUSE, 400],
      [{ account: accountId, order: "TG34679ACD", ...BECAUSE }, 400],
      [{ account: "x", ...BECAUSE }, 400],
      [{ account: nobody, ...BECAUSE }, 404],
      [{ order: "TG34679ACD", ...BECAUSE }, 404],
    ] as const) {
      t.equal((await decide(id, "assign", body)).status, status, JSON.stringify(body));
    }
    t.equal((await decide(id, "ignore", {})).status, 400);
    for (const what of ["assign", "ignore"] as const) {
      const body = what === "assign" ? { account: accountId, ...BECAUSE } : BECAUSE;
      t.equal((await decide("no-such-transfer", what, body)).status, 404);
      const stranger = { ...gateway, adminToken: "not-the-token-of-the-gateway" };
      t.equal((await admin(stranger, "POST", `/transfers/${id}/${what}`, body)).status, 401);
    }
    t.equal((await admin(gateway, "GET", `/transfers/${id}`)).body["state"], "unmatched");
  });

  t.test("is listed by state, newest first, page by page", async (t) => {
    const ids = [await waiting(), await waiting(), await waiting()].reverse();
    const seen: unknown[] = [];
    let before = "";
    while (seen.length < 3) {
      const path = `/transfers?state=unmatched&limit=1${before}`;
      const { body } = await admin(gateway, "GET", path);
      const [one] = Array.isArray(body["list"]) ? body["list"].filter(isObject) : [];
      seen.push(one?.["id"]);
      before = `&before=${String(one?.["sequence"])}`;
    }
    t.strictSame(seen, ids);
    t.equal((await admin(gateway, "GET", "/transfers?state=lost")).status, 400);
  });

  t.test("is handled from the command line", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCli([...args, "--json"], { env });
      t.equal(code, 0, stderr);
      return parseJson(stdout);
    };
    const [assigned, ignored] = [await waiting(), await waiting()];
    const listed = await run("transfer", "list", "--state", "unmatched", "--limit", "2");
    assert.ok(Array.isArray(listed));
    t.strictSame(
      listed.filter(isObject).map((one) => one["id"]),
      [ignored, assigned],
    );
    const reason = ["--reason", BECAUSE.reason];
    await run("transfer", "assign", "--transfer", assigned, "--account", accountId, ...reason);
    await run("transfer", "ignore", "--transfer", ignored, ...reason);
    const shown = await run("transfer", "show", "--transfer", assigned);
    assert.ok(isObject(shown) && shown["state"] === "credited");
    t.ok(String(shown["payload"]).includes('"thank you"'));
    t.equal((await wallet(gateway, accountId)).balance, "100000");
    const both = await runCli(["transfer", "assign", "--transfer", assigned, ...reason], { env });
    t.equal(both.code, 2);
    t.match(both.stderr, /needs either --account or --order/);
  });

  t.test("cannot be changed, deleted or marked as credited without the ledger", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const { database } = gateway.gateway.services;
    const mine = await order(gateway, accountId);
    const told = transfer({ content: mine.code });
    await notify(gateway, told);
    const id = await waiting();
    const credited = String(told["id"]);
    const returned = await waiting();
    await decide(returned, "return", BECAUSE);
    for (const [statement, parameters] of [
      [
        "update bank_transfers set state = 'unmatched', credited_at = null where id = $1",
        [credited],
      ],
      ["update bank_transfers set account_id = null where id = $1", [credited]],
      ["update bank_transfers set amount = amount + 1 where id = $1", [id]],
      ["update bank_transfers set payload = '' where id = $1", [id]],
      ["update bank_transfers set state = 'matched' where id = $1", [id]],
      [
        "update bank_transfers set state = 'credited', account_id = $2, credited_at = now() where id = $1",
        [id, accountId],
      ],
      ["update bank_transfers set state = 'unmatched' where id = $1", [returned]],
      ["delete from bank_transfers where id = $1", [id]],
      ["truncate bank_transfers", []],
    ] as const) {
      await t.rejects(database.query(statement, [...parameters]), statement);
    }
    // The ledger accepts a reference once, so no transfer is credited twice.
    const again = `transfer:${credited}`;
    t.match(await byHand(accountId, 100_000_000_000n, again), { kind: "credited", applied: false });
    const other = await createCustomer(gateway);
    const conflict = await byHand(other.accountId, 100_000_000_000n, again);
    t.equal(conflict.kind, "reference_conflict");
    t.equal((await admin(gateway, "GET", "/reconcile")).body["drift"], false);
  });
});
