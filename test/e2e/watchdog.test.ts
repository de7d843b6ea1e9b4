import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { STALLED_STATUS } from "../../core/process/watchdog.ts";
import { committedWallet, createCustomer } from "../support/admin.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { assertReconciled } from "../support/proof.ts";
import { bodies, paths, post } from "../support/requests.ts";

/** A plugin whose route blocks the event loop forever. */
const STUCK = `
export default function stuck() {
  const stand = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  const route = { method: "POST", path: "/stuck", access: "public", bodyBytesMax: 1 };
  return { name: "stuck", routes: (router) => router.addRoute({ ...route, handler: stand }) };
}
`;

let gateway: TestGateway;
let folder: string;

t.before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const file = join(folder, "stuck.mjs");
  writeFileSync(file, STUCK);
  const plugins = ["auth", "alias", "translate", "meter", "settle", "admin", file];
  gateway = await startGateway({ config: { plugins } });
});
t.teardown(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

t.test("a gateway whose event loop is blocked", async (t) => {
  t.test(
    "exits with its own status, logs where the loop was blocked, and loses no call",
    async (t) => {
      const customer = await createCustomer(gateway, { creditVnd: 10_000 });
      const usage = { input_tokens: 500, output_tokens: 500 };
      const call = await post(gateway, paths.messages, customer, bodies.messages(usage));
      t.equal(call.status, 200);

      const stuck = fetch(`${gateway.url}/stuck`, { method: "POST" }).catch(() => undefined);
      t.equal(await gateway.ended(), STALLED_STATUS);
      await stuck;
      t.match(gateway.logs, /the event loop does not turn; ending this process/);
      t.match(gateway.logs, /stand \(file:.*stuck\.mjs:3:\d+\)/);

      await gateway.start();
      t.equal((await committedWallet(gateway, customer.accountId)).balance, "9964");
      await assertReconciled(gateway);
    },
  );
});
