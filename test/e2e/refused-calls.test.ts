import assert from "node:assert/strict";
import t from "tap";
import { runCli } from "../plugins/admin/cli-runs.ts";
import { admin, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { bodies, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

let gateway: TestGateway;
t.before(async () => {
  gateway = await sharedGateway();
});

async function cli(...args: string[]) {
  const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
  const { code, stdout } = await runCli([...args, "--json"], { env });
  assert.equal(code, 0, stdout);
  return JSON.parse(stdout);
}

type Count = { status: number; cause: string; calls: number; key_id: string };

t.test("a call that the gateway refuses is shown with its cause, and has no record", async (t) => {
  const { accountId, key, keyId } = await createCustomer(gateway, { creditVnd: 1 });
  const customer = { key };
  const long = bodies.chat({}, { model: "claude-opus-5-5", max_tokens: 128_000 });
  const statuses: number[] = [];
  const ids: string[] = [];
  const ask = async (body: unknown, caller = customer) => {
    const { status, headers } = await post(gateway, paths.chat, caller, body);
    statuses.push(status);
    ids.push(headers.get("x-request-id") ?? "");
  };
  await ask({ model: "gpt-4.1-nano" });
  await ask("{");
  await ask(long);
  await ask(long);
  await ask(bodies.chat(), { key: "tg-a-stranger" });
  const limit = { requests_per_minute: 1, reason: "a test" };
  assert.equal((await admin(gateway, "POST", `/keys/${keyId}/limit`, limit)).status, 200);
  await until("the limit of the key is in force", async () => {
    await ask({ model: "gpt-4.1-nano" });
    return statuses.at(-1) === 429;
  });
  const bad = statuses.filter((status) => status === 400).length;
  t.strictSame([...new Set(statuses)], [400, 402, 401, 429]);

  let shown: { counts: Count[]; last: Record<string, unknown>[] } = { counts: [], last: [] };
  await until("all are counted", async () => {
    shown = await cli("refused", "--account", accountId);
    return shown.counts.reduce((sum, { calls }) => sum + calls, 0) === statuses.length - 1;
  });
  const counted = shown.counts.map(({ status, cause, calls }) => `${status} ${cause} ${calls}`);
  t.strictSame(counted.sort(), [
    "400 invalid_request_error 1",
    `400 messages ${bad - 1}`,
    "402 insufficient_balance 2",
    "429 rate_limit_exceeded 1",
  ]);
  t.ok(shown.counts.every(({ key_id }) => key_id === keyId));
  const poor = shown.last.filter(({ status }) => status === 402);
  t.match(poor, [{ endpoint: paths.chat, model: "claude-opus-5-5", key_id: keyId }, {}]);
  t.equal(poor[0]?.["call_id"], ids[3], "newest first, by the id of its reply");

  t.strictSame(await cli("usage", "--account", accountId), []);
  const account = await cli("account", "show", "--account", accountId);
  t.strictSame(account.last_refused[0], shown.last[0]);
});

t.test("calls of a revoked key and of a suspended account are shown to their owner", async (t) => {
  const { accountId, key, keyId } = await createCustomer(gateway);
  const { body } = await admin(gateway, "POST", `/accounts/${accountId}/keys`, { name: "other" });
  const other = { key: String(body["key"]) };
  const reason = { reason: "a test" };
  await admin(gateway, "POST", `/keys/${keyId}/revoke`, reason);
  await until("the key is refused", async () => {
    const { status } = await post(gateway, paths.chat, { key }, bodies.chat());
    return status === 401;
  });
  await admin(gateway, "POST", `/accounts/${accountId}/suspend`, reason);
  await until("the account is refused", async () => {
    const { status } = await post(gateway, paths.chat, other, bodies.chat());
    return status === 403;
  });
  let causes: string[] = [];
  await until("both are counted", async () => {
    const { counts } = (await cli("refused", "--account", accountId)) as { counts: Count[] };
    causes = counts.map(({ status, cause }) => `${status} ${cause}`).sort();
    return causes.length >= 2;
  });
  t.strictSame(causes, ["401 invalid_api_key", "403 permission_error"]);
});

t.test("refused calls of an unknown account are 404", async (t) => {
  t.equal((await admin(gateway, "GET", "/accounts/none/refused")).status, 404);
});
