import t from "tap";
import { arrayOf, isObject, objectOf } from "../../../core/process/json.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { bodies, paths, post } from "../../support/requests.ts";

const KEYS = ["key-of-the-first-one", "key-of-the-second"];

t.test("GET /admin/v1/upstreams", async (t) => {
  const gateway = await startGateway({ config: { upstreams: { anthropic: { keys: KEYS } } } });
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
    t.strictSame([sound["breaker"], sound["failures"]], ["closed", 0]);
    t.match(sound["keys"], [
      { key: "…-one", failures: 0 },
      { key: "…cond", failures: 0 },
    ]);
    for (const key of KEYS) t.notMatch(JSON.stringify(sound), key);
    const opus = arrayOf(sound["routes"]).find(
      (route) => isObject(route) && route["model"] === "claude-opus-5-5",
    );
    t.match(opus, { priority: Number, weight: 1, share_percent: 100 });
    for (const status of [401, 500, 500, 500, 500, 500]) {
      const body = bodies.messages({ status });
      t.equal((await post(gateway, paths.messages, caller, body)).status, 502);
    }
    const failed = await upstream();
    t.equal(failed["breaker"], "open");
    // The first call was tried with both keys. Both rest since, so each later one tries only that which wakes first.
    t.strictSame(failed["failures_by_cause"], { key: 2, http_500: 5 });
    const [, breaker] = arrayOf(failed["breakers"]).filter(isObject);
    t.match(breaker, { model: String, breaker: "open", failures_in_row: 5 });
    t.ok(Number(breaker?.["retry_in_ms"]) > 0);
    const last = objectOf(breaker?.["last_failure"]);
    t.equal(last?.["reason"], "HTTP 500 api_error");
    t.ok(Math.abs(Date.parse(String(last?.["at"])) - Date.now()) < 60_000);
    const rest = { cause: "key", wakes_in_ms: Number };
    t.match(failed["keys"], [{ rests: [rest] }, { rests: [rest] }]);
  });
});
