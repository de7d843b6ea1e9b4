import t from "tap";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { ArmedGateway } from "../../support/armed.ts";
import { createOperator } from "../../support/operators.ts";
import { until } from "../../support/until.ts";

const BOUNDS = { owner: 5_000_000, admin_token: 5_000_000 };

for (const point of ["approval.approved", "credit.committed"] as const) {
  t.test(`a movement is made once if its gateway dies at ${point}`, async (t) => {
    const armed = await ArmedGateway.start(point, {
      plugins: { operators: { second_person_above_vnd: BOUNDS } },
    });
    const { gateway } = armed;
    t.teardown(() => gateway.close());
    const { session } = await createOperator(gateway, "owner");
    const { accountId } = await createCustomer(gateway);
    const path = `/accounts/${accountId}/credits`;
    const body = { amount_vnd: "9000000", reference: "large", reason: "a contract" };
    t.equal((await admin(gateway, "POST", path, body)).status, 428);
    const waiting = async () =>
      ((await admin(session, "GET", "/approvals")).body["list"] as Record<string, string>[])[0];
    const { id } = (await waiting()) ?? {};
    await admin(session, "POST", `/approvals/${id}/approve`, {}).catch(() => {});
    await armed.died();
    await armed.startUnarmed();
    await until("it is done", async () => (await waiting())?.["state"] === "done");
    t.equal((await wallet(gateway, accountId)).balance, "9000000");
    t.match(await waiting(), { id, decided_by: "owner@shop.test" });
    t.match((await admin(gateway, "POST", path, body)).body, { applied: false });
    t.match(await admin(gateway, "GET", "/reconcile"), { status: 200, body: { drift: false } });
  });
}
