import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { committedWallet, createCustomer } from "../support/admin.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bodies, paths, post } from "../support/requests.ts";

/** A budget for each key that asks for one: the price of two calls. A plugin in any folder can do as much. */
const BUDGET = `
export const requires = ["key"];
export const sets = ["limits"];
export default ({ wallets }) => ({
  name: "budget",
  async request(call) {
    if (!call.headers["x-budget"]) return;
    const name = "key:" + call.key.id;
    const { accountId } = call.key;
    const change = { accountId, name, kind: "set", amountMicroVnd: 72_000_000n, reason: null };
    await wallets.changeLimit({ ...change, reference: "budget of " + name });
    call.limits = [...call.limits, {
      name,
      refusal: (left) => ({
        status: 402, type: "insufficient_balance", code: "key_budget_exceeded",
        message: "The budget of this key has " + left / 1e6 + " đ left.",
      }),
    }];
  },
});
`;

/** 36 đ: 1,000 tokens at 36,000 đ a million. */
const CALL = { input_tokens: 500, output_tokens: 500 };

let gateway: TestGateway;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const file = join(folder, "budget.mjs");
  writeFileSync(file, BUDGET);
  const plugins = ["auth", "alias", "translate", "meter", file, "settle", "admin"];
  gateway = await startGateway({ config: { plugins } });
});
after(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("a limit beside the wallet, named by a plugin", () => {
  it("refuses a call that it does not afford with the plugin's own 402, and the wallet pays for the others", async () => {
    const customer = await createCustomer(gateway, { creditVnd: 10_000 });
    const call = (headers: Record<string, string>) =>
      post(gateway, paths.messages, customer, bodies.messages(CALL), headers);

    const limited = { "x-budget": "yes" };
    assert.deepEqual([(await call(limited)).status, (await call(limited)).status], [200, 200]);
    const refused = await call(limited);
    assert.equal(refused.status, 402);
    assert.equal(refused.json.error.message, "The budget of this key has 0 đ left.");

    assert.equal((await call({})).status, 200);
    const { balance } = await committedWallet(gateway, customer.accountId);
    assert.equal(balance, "9892");
  });
});
