import t from "tap";
import { admin, createCustomer, credit, wallet } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";

t.test("admin API: money", async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());

  const move = (account: string, movement: object) =>
    admin(gateway, "POST", `/accounts/${account}/credits`, movement);

  async function refusal(account: string, movement: object) {
    const { status, body } = await move(account, movement);
    const error = body["error"] as Record<string, unknown>;
    return [status, error["code"] ?? error["param"]];
  }

  t.test("applies twenty credits with one reference once", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const movement = { amount_vnd: "50000.000001", reference: "bank transfer 1" };
    const answers = await Promise.all(Array.from({ length: 20 }, () => move(accountId, movement)));
    t.ok(
      answers.every(({ status, body }) => status === 200 && body["balance_vnd"] === "50000.000001"),
    );
    t.equal(answers.filter(({ body }) => body["applied"] === true).length, 1);
    t.equal((await wallet(gateway, accountId)).balance, "50000.000001");
  });

  t.test("refuses a reference that belongs to another movement", async (t) => {
    const [one, two] = [await createCustomer(gateway), await createCustomer(gateway)];
    await credit(gateway, one.accountId, 10, "mine");
    const same = { amount_vnd: 10, reference: "mine" };
    t.strictSame(await refusal(two.accountId, same), [409, "reference_conflict"]);
    const more = { amount_vnd: 11, reference: "mine" };
    t.strictSame(await refusal(one.accountId, more), [409, "reference_conflict"]);
    t.equal((await wallet(gateway, two.accountId)).balance, "0");
    t.equal((await wallet(gateway, one.accountId)).balance, "10");
  });

  t.test("takes money out only with a reason, and never more than is available", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: "10.5" });
    const less = { amount_vnd: "-10.500001", reference: "less" };
    t.strictSame(await refusal(accountId, less), [400, "reason"]);
    const reason = "chargeback";
    t.strictSame(await refusal(accountId, { ...less, reason }), [409, "below_zero"]);
    const all = { amount_vnd: -10.5, reference: "all", reason };
    t.strictSame(await move(accountId, all), {
      status: 200,
      body: { balance_vnd: "0", applied: true },
    });
    t.strictSame(await wallet(gateway, accountId), {
      balance: "0",
      held: "0",
      available: "0",
      pending: "0",
    });
  });

  t.test("refuses to fill a wallet beyond the amounts that are exact", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: "9007199254" });
    // In two steps: a larger one needs a second person.
    await credit(gateway, accountId, "0.740991", "all that fits");
    const more = { amount_vnd: "0.000001", reference: "one too many" };
    t.strictSame(await refusal(accountId, more), [400, "amount_vnd"]);
    t.equal((await wallet(gateway, accountId)).balance, "9007199254.740991");
  });
});
