import t from "tap";
import { arrayOf, isObject, objectOf } from "../../../core/process/json.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { bodies, paths, post } from "../../support/requests.ts";

t.test("GET /admin/v1/upstreams", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway({ config: { upstreams: { anthropic: { keys: ["a", "b"] } } } });
  });
  t.teardown(() => gateway.close());

  async function upstream(): Promise<Record<string, unknown>> {
    const { body } = await admin(gateway, "GET", "/upstreams");
    const found = arrayOf(body["upstreams"])
      .filter(isObject)
      .find(({ name }) => name === "anthropic");
    return found ?? {};
  }

  t.test("lists a healthy upstream, then a failing one, and never their keys", async (t) => {
    const caller = await createCustomer(gateway, { creditVnd: 500 });
    t.equal((await post(gateway, paths.messages, caller, bodies.messages())).status, 200);
    const sound = await upstream();
    t.strictSame(
      [sound["breaker"], sound["failures"], sound["last_failure"], sound["keys"]],
      ["closed", 0, null, 2],
    );
    t.ok(!JSON.stringify(sound).includes('"a"'));
    for (const status of [401, 500, 500, 500, 500, 500]) {
      const body = bodies.messages({ status });
      t.equal((await post(gateway, paths.messages, caller, body)).status, 502);
    }
    const failed = await upstream();
    t.strictSame([failed["breaker"], failed["failures_in_row"]], ["open", 5]);
    t.strictSame(failed["failures_by_cause"], { http_401: 1, http_500: 5 });
    t.ok(Number(failed["retry_in_ms"]) > 0);
    const last = objectOf(failed["last_failure"]);
    t.equal(last?.["reason"], "HTTP 500");
    t.ok(Math.abs(Date.parse(String(last?.["at"])) - Date.now()) < 60_000);
  });
});
