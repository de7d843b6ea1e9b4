import assert from "node:assert/strict";
import t from "tap";
import { newId } from "../../../core/process/id.ts";
import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { admin, createCustomer, credit, wallet } from "../../support/admin.ts";
import { billedCall } from "../../support/billed.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { startTestSimulator } from "../../support/simulator.ts";
import { runCli } from "../admin/cli-runs.ts";
import { bootTopups } from "./in-process.ts";
import { as, notify, order, transfer } from "./topups.ts";

const REASON = "given to the wrong customer";

t.test("money that went wrong", async (t) => {
  const simulator = await startTestSimulator();
  const gateway = await bootTopups({}, simulator.port);
  t.teardown(async () => {
    const { body } = await admin(gateway, "GET", "/reconcile").finally(async () => {
      await gateway.close();
      await simulator.stop();
    });
    assert.equal(body["drift"], false);
  });

  /** A transfer that is credited to an account. */
  async function transferTo(accountId: string, amountVnd: number): Promise<string> {
    const told = transfer({ content: "no code", transferAmount: amountVnd });
    await notify(gateway, told);
    const id = String(told["id"]);
    await assign(id, accountId);
    return id;
  }
  const assign = (id: string, account: string) =>
    admin(gateway, "POST", `/transfers/${id}/assign`, { account, reason: "by e-mail" });
  const reverse = (id: string, more: object = {}) =>
    admin(gateway, "POST", `/transfers/${id}/reverse`, { reason: REASON, ...more });
  const refund = (body: object) => admin(gateway, "POST", "/refunds", { reason: "sorry", ...body });
  const spendable = async (accountId: string) => (await wallet(gateway, accountId)).available;
  const discountOf = async (accountId: string) =>
    (await as(gateway, accountId, "GET", "/promotions")).body["discount_bps"];
  const errorOf = ({ body }: { body: JsonObject }) =>
    isObject(body["error"]) ? body["error"] : {};

  t.test(
    "a transfer given to the wrong account goes to the right one, with its discounts",
    async (t) => {
      const wrong = await createCustomer(gateway);
      const right = await createCustomer(gateway);
      const id = await transferTo(wrong.accountId, 12_000_000);
      t.equal(await discountOf(wrong.accountId), 200);
      for (let n = 0; n < 2; n++) {
        const { status, body } = await reverse(id);
        t.equal(status, 200, JSON.stringify(body));
        t.strictSame(
          [body["state"], body["cause"], body["account"]],
          ["unmatched", "taken_back", null],
        );
      }
      t.equal(await spendable(wrong.accountId), "0");
      t.equal(await discountOf(wrong.accountId), 0);
      t.equal((await assign(id, right.accountId)).body["state"], "credited");
      t.equal(await spendable(right.accountId), "12000000");
      t.equal(await discountOf(right.accountId), 200);
      // Even back to the first account, and taken back again.
      t.equal((await reverse(id)).status, 200);
      t.equal((await assign(id, wrong.accountId)).status, 200);
      t.strictSame(
        [await spendable(wrong.accountId), await spendable(right.accountId)],
        ["12000000", "0"],
      );
      const { body } = await admin(gateway, "GET", `/accounts/${wrong.accountId}/ledger`);
      const rows: JsonObject[] = Array.isArray(body["rows"]) ? body["rows"] : [];
      t.strictSame(
        rows.map(({ kind, amount_vnd, balance_vnd, reference, reason }) => [
          ...[kind, amount_vnd, balance_vnd, reference, reason],
        ]),
        [
          ["transfer", "12000000", "12000000", `transfer:${id}`, null],
          ["taken_back", "-12000000", "0", `taken-back:1:transfer:${id}`, REASON],
          ["transfer", "12000000", "12000000", `transfer:${id}:3`, null],
        ],
      );
    },
  );

  t.test("an order whose transfer is taken back is unpaid again", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const mine = await order(gateway, accountId);
    const told = transfer({ content: mine.code });
    await notify(gateway, told);
    t.equal((await as(gateway, accountId, "GET", `/top-ups/${mine.id}`)).body["status"], "paid");
    t.equal((await reverse(String(told["id"]))).status, 200);
    t.equal((await as(gateway, accountId, "GET", `/top-ups/${mine.id}`)).body["status"], "open");
  });

  t.test("if some is spent, says what there is, and takes that if asked to", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const id = await transferTo(accountId, 100_000);
    await admin(gateway, "POST", `/accounts/${accountId}/adjustments`, {
      amount_vnd: "-30000",
      reference: `spent-${id}`,
      reason: "spent",
    });
    const short = await reverse(id);
    t.equal(short.status, 409);
    t.match(String(errorOf(short)["message"]), /only 70000 đ available/);
    t.equal(await spendable(accountId), "70000");
    const { status, body } = await reverse(id, { as_much_as_there_is: true });
    t.equal(status, 200);
    t.match(body["taken_back"], { amount_vnd: "70000", left_vnd: "30000" });
    t.equal(await spendable(accountId), "0");
  });

  t.test(
    "if all is spent, takes nothing if asked to, and the transfer goes to its owner",
    async (t) => {
      const [wrong, right] = [await createCustomer(gateway), await createCustomer(gateway)];
      const id = await transferTo(wrong.accountId, 100_000);
      const spent = { amount_vnd: "-100000", reference: `spent-${id}`, reason: "spent" };
      await admin(gateway, "POST", `/accounts/${wrong.accountId}/adjustments`, spent);
      const short = await reverse(id);
      t.equal(short.status, 409);
      t.match(String(errorOf(short)["message"]), /spent all of it.*--as-much-as-there-is/);
      const all = { as_much_as_there_is: true, confirm_above_vnd: "0" };
      const answers = await Promise.all([1, 2, 3, 4].map(() => reverse(id, all)));
      for (const { status, body } of [...answers, await reverse(id, all)]) {
        t.equal(status, 200, JSON.stringify(body));
        t.match(body, { state: "unmatched", cause: "taken_back", account: null });
      }
      const reversed = answers.find(({ body }) => "taken_back" in body);
      t.match(reversed?.body["taken_back"], { amount_vnd: "0", applied: false });
      for (let n = 0; n < 2; n++) t.equal((await assign(id, right.accountId)).status, 200);
      t.strictSame(
        [await spendable(wrong.accountId), await spendable(right.accountId)],
        ["0", "100000"],
      );
      // The first customer still owes it.
      await credit(gateway, wrong.accountId, 30_000, `later-${id}`);
      const later = await refund({
        top_up: `transfer:${id}`,
        ...all,
        confirm_above_vnd: undefined,
      });
      t.match(later.body, { amount_vnd: "30000", left_vnd: "70000" });
      t.equal(await spendable(right.accountId), "100000");
    },
  );

  t.test("while calls hold all that is left, stays with the wrong customer", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const id = await transferTo(accountId, 100_000);
    const { database, wallets } = gateway.gateway.services;
    const call = { callId: newId(Date.now()), accountId };
    const amounts = { amountMicroVnd: 1e11, floorMicroVnd: 1e11 };
    t.match(await wallets.current.hold({ ...call, keyId: newId(Date.now()), ...amounts }), {
      kind: "held",
    });
    for (const as_much_as_there_is of [false, true]) {
      const { status, body } = await reverse(id, { as_much_as_there_is });
      t.equal(status, 409, JSON.stringify(body));
    }
    // Even past the routes: the money may come back.
    const release = database.query(
      "update bank_transfers set state = 'unmatched', round = 2, account_id = null, credited_at = null where id = $1",
      [id],
    );
    await t.rejects(release, { message: /is credited: a change is refused/ });
    await wallets.current.void(call.callId, accountId);
    t.equal((await reverse(id)).status, 200);
    t.equal(await spendable(accountId), "0");
  });

  t.test("a top-up is paid back by the bank in parts, and no more than it was", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const id = await transferTo(accountId, 10_000_000);
    t.equal(await discountOf(accountId), 200);
    const top_up = `transfer:${id}`;
    for (let n = 0; n < 2; n++) {
      const { status, body } = await refund({ top_up, amount_vnd: "9900000" });
      t.equal(status, 200);
      t.strictSame(
        [body["amount_vnd"], body["total_vnd"], body["left_vnd"], body["applied"]],
        [n === 0 ? "9900000" : "0", "9900000", "100000", n === 0],
      );
    }
    t.equal(await spendable(accountId), "100000");
    // 100,000 đ of today's top-up are left.
    t.equal(await discountOf(accountId), 100);
    t.match(errorOf(await refund({ top_up, amount_vnd: "10000001" })), { code: "above_cause" });
    t.match(errorOf(await refund({ top_up, amount_vnd: "5" })), { code: "corrected_before" });
    t.equal((await refund({ top_up })).body["amount_vnd"], "100000");
    t.equal(await discountOf(accountId), 0);
    t.equal((await refund({ top_up: "transfer:none" })).status, 404);
  });

  t.test("of many operators at once, one takes it back", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: 500_000 });
    const id = await transferTo(accountId, 100_000);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => refund({ top_up: `transfer:${id}` })),
    );
    t.strictSame(
      answers.map(({ status }) => status),
      Array.from({ length: 10 }, () => 200),
    );
    t.equal(answers.filter(({ body }) => body["applied"]).length, 1);
    t.equal(await spendable(accountId), "500000");
  });

  t.test("a call is paid back, all of it or in parts, and no more than it cost", async (t) => {
    const caller = await createCustomer(gateway, { creditVnd: 100_000 });
    const body = bodies.messages({ input_tokens: 10, output_tokens: 990 });
    assert.equal((await post(gateway, paths.messages, caller, body)).status, 200);
    const call = String((await billedCall(gateway, caller))["call_id"]);
    const left = await spendable(caller.accountId);
    t.not(left, "100000");
    t.equal((await refund({ call, amount_vnd: "0.5" })).body["amount_vnd"], "0.5");
    for (const applied of [true, false]) t.equal((await refund({ call })).body["applied"], applied);
    t.equal(await spendable(caller.accountId), "100000");
    t.match(errorOf(await refund({ call, amount_vnd: "100000" })), { code: "above_cause" });
    t.equal((await refund({ call: caller.accountId })).status, 404);
    for (const wrong of [{}, { call, top_up: "x" }, { call: "x" }, { call, amount_vnd: "-1" }]) {
      t.equal((await refund(wrong)).status, 400);
    }
  });

  t.test("all that was moved by hand is in the trail of its customer", async (t) => {
    const caller = await createCustomer(gateway, { creditVnd: 100_000 });
    const { accountId } = caller;
    const body = bodies.messages({ input_tokens: 10, output_tokens: 990 });
    assert.equal((await post(gateway, paths.messages, caller, body)).status, 200);
    const call = String((await billedCall(gateway, caller))["call_id"]);
    assert.equal((await refund({ call })).status, 200);
    const { code } = await order(gateway, accountId);
    const told = transfer({ content: "no code", transferAmount: 100_000 });
    await notify(gateway, told);
    const id = String(told["id"]);
    const byOrder = { order: code.toLowerCase(), reason: "by e-mail" };
    const path = `/transfers/${id}/assign`;
    assert.equal((await admin(gateway, "POST", path, byOrder)).status, 200);
    const other = await createCustomer(gateway);
    assert.equal((await assign(id, other.accountId)).status, 409);
    assert.equal((await reverse(id)).status, 200);
    await credit(gateway, accountId, 50, `gift-${id}`);
    assert.equal((await refund({ top_up: `gift-${id}` })).status, 200);
    const { email } = (await admin(gateway, "GET", `/accounts/${accountId}`)).body;
    const { body: trail } = await admin(gateway, "GET", `/actions?account=${accountId}`);
    const sentences = (trail["list"] as { sentence: string }[]).map(({ sentence }) => sentence);
    for (const said of [
      `refunded the call ${call} of ${email}`,
      `assigned the transfer ${id} to ${email}, order ${code.toLowerCase()}`,
      `took the transfer ${id} of ${email} back`,
      `refunded the top-up gift-${id} of ${email}`,
    ])
      t.ok(
        sentences.some((sentence) => sentence.includes(said)),
        `${said}: ${sentences.join("; ")}`,
      );
    const refused = await admin(gateway, "GET", `/actions?account=${other.accountId}&limit=1`);
    t.match(refused.body["list"], [
      { sentence: /^The admin token \w+ assigned .*refused \(409\)$/ },
    ]);
  });

  t.test("references of causes are the gateway's own", async (t) => {
    const { accountId } = await createCustomer(gateway);
    for (const reference of ["transfer:5", "taken-back:1:transfer:5", "refund:1:x"]) {
      const body = { amount_vnd: "5", reference, reason: "by hand" };
      for (const path of ["credits", "adjustments"]) {
        const { status } = await admin(gateway, "POST", `/accounts/${accountId}/${path}`, body);
        t.equal(status, 400, `${path} ${reference}`);
      }
    }
  });

  t.test("a large one is reversed and assigned only after it is confirmed", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const id = await transferTo(accountId, 6_000_000);
    const run = (command: string, ...words: string[]) =>
      runCli([
        ...["transfer", command, "--transfer", id, "--reason", "x", ...words],
        ...["--json", "--url", gateway.url, "--token", gateway.adminToken],
      ]);
    for (const [command, words, question] of [
      [
        "reverse",
        [],
        /^Take 6,000,000 đ from .*, whose balance is 6,000,000 đ\? Nothing.* --yes\.$/m,
      ],
      ["assign", ["--account", accountId], /^Credit 6,000,000 đ to .*, whose balance is 0 đ\?/],
    ] as const) {
      const before = await spendable(accountId);
      const { code, stderr } = await run(command, ...words);
      t.equal(code, 2);
      t.match(stderr, question);
      t.equal(await spendable(accountId), before);
      t.equal((await run(command, ...words, "--yes")).code, 0);
      // A repetition changes nothing, so it does not ask.
      t.equal((await run(command, ...words)).code, 0);
    }
  });

  t.test("has commands", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const id = await transferTo(accountId, 100_000);
    await credit(gateway, accountId, 50, `gift-${id}`);
    const run = async (...words: string[]) => {
      const { code, stdout, stderr } = await runCli([
        ...words,
        ...["--json", "--url", gateway.url, "--token", gateway.adminToken],
      ]);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const back = await run(
      "refund",
      "--top-up",
      `gift-${id}`,
      "--amount-vnd",
      "20",
      "--reason",
      "x",
    );
    t.match(back, { amount_vnd: "20", left_vnd: "30" });
    const flags = ["--reason", "x", "--as-much-as-there-is"];
    t.match(await run("transfer", "reverse", "--transfer", id, ...flags), { state: "unmatched" });
    const { rows } = await run("ledger", "--account", accountId);
    t.equal(rows.at(-1).balance_vnd, "30");
    t.equal((await run("ledger", "--account", accountId, "--from", "2031-01-01")).rows.length, 0);
  });
});
