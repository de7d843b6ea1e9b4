import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { committedWallet, createCustomer } from "../support/admin.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { readmeBlock } from "../support/outside.ts";
import { assertReconciled } from "../support/proof.ts";
import { bodies, paths, post } from "../support/requests.ts";

/** 36 đ: 1,000 tokens at 36,000 đ a million. */
const CALL = { input_tokens: 500, output_tokens: 500 };
const TWO_CALLS = "72_000_000";

let gateway: TestGateway;
let folder: string;

t.before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const file = join(folder, "budget.mjs");
  writeFileSync(file, example());
  const plugins = ["auth", "alias", "translate", "meter", file, "settle", "admin"];
  gateway = await startGateway({ config: { plugins } });
});
t.teardown(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

t.test("the budget of a user, by the example in the plugins' README", async (t) => {
  t.test(
    "refuses a call that exceeds it with the plugin's own 402, and the wallet pays for the others",
    async (t) => {
      const customer = await createCustomer(gateway, { creditVnd: 10_000 });
      const call = (user = "an") =>
        post(gateway, paths.messages, customer, bodies.messages(CALL), { "x-user": user });

      t.strictSame([(await call()).status, (await call()).status], [200, 200]);
      const refused = await call();
      t.equal(refused.status, 402);
      t.equal(refused.json.error.message, "The budget of this user is spent.");

      t.equal((await call("bình")).status, 400);
      t.equal((await call("binh")).status, 200);
      t.equal((await committedWallet(gateway, customer.accountId)).balance, "9892");
    },
  );

  t.test("keeps the rest of it across a kill -9", async (t) => {
    const customer = await createCustomer(gateway, { creditVnd: 10_000 });
    const user = { "x-user": "an" };
    const call = () => post(gateway, paths.messages, customer, bodies.messages(CALL), user);
    t.equal((await call()).status, 200);
    await gateway.kill9();
    await gateway.start();
    t.strictSame([(await call()).status, (await call()).status], [200, 402]);
    await gateway.kill9();
    await gateway.start();
    t.equal((await call()).status, 402);
    await assertReconciled(gateway);
  });
});

/** The plugin `budget`, with a budget of two calls, and with the contract of this checkout. */
function example(): string {
  const text = readmeBlock("js", 'name: "budget"');
  const contract = pathToFileURL(join(packageRoot, "dist/core/plugin/index.js")).href;
  assert.ok(text.includes('"tollgate/plugin"') && text.includes("100_000_000_000"));
  return text.replace("tollgate/plugin", contract).replace("100_000_000_000", TWO_CALLS);
}
