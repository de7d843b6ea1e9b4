import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { admin, createCustomer, credit } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";

const NOBODY = "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d";

describe("admin API: accounts and keys", () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.close());

  const models = (key: string) =>
    fetch(`${gateway.url}/v1/models`, { headers: { "x-api-key": key } });

  it("makes an account, once per address in any case of letters", async () => {
    const first = await admin(gateway, "POST", "/accounts", { email: "Once@Example.com" });
    assert.equal(first.status, 201);
    assert.equal(first.body["email"], "once@example.com");
    const again = await admin(gateway, "POST", "/accounts", { email: "onCE@example.com" });
    assert.equal(again.status, 409);
    assert.deepEqual(again.body["error"], {
      type: "invalid_request_error",
      message: "An account with this email address already exists.",
      param: "email",
      code: "email_taken",
    });
    const { body } = await admin(gateway, "GET", "/accounts");
    assert.ok(Array.isArray(body["list"]));
    const { created_at, ...listed } = body["list"].find(({ id }) => id === first.body["id"]);
    assert.ok(!Number.isNaN(Date.parse(created_at)));
    assert.deepEqual(listed, { ...first.body, status: "active", discount_bps: 0 });
  });

  it("lets one of twenty at once have an address", async () => {
    const email = "race@example.com";
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => admin(gateway, "POST", "/accounts", { email })),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ status }) => status === 409).length, 19);
  });

  it("refuses the eleventh key: of twenty at once exactly ten are made (limit: 10 active keys)", async () => {
    const { body } = await admin(gateway, "POST", "/accounts", { email: "ten@example.com" });
    const path = `/accounts/${String(body["id"])}/keys`;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => admin(gateway, "POST", path, { name: `key ${n}` })),
    );
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 409);
    assert.deepEqual([made.length, refused.length], [10, 10]);
    assert.equal(new Set(made.map((answer) => answer.body["key"])).size, 10);
    const error = refused[0]?.body["error"] as Record<string, unknown>;
    assert.equal(error["code"], "too_many_keys");
    // A revoked key makes room for another one.
    await admin(gateway, "POST", `/keys/${String(made[0]?.body["id"])}/revoke`);
    assert.equal((await admin(gateway, "POST", path, { name: "next" })).status, 201);
    assert.equal((await admin(gateway, "POST", path, { name: "too many" })).status, 409);
  });

  it("refuses a revoked key at the next call, and not its neighbour (authentication 2)", async () => {
    const { accountId, key, keyId } = await createCustomer(gateway);
    const path = `/accounts/${accountId}/keys`;
    const { body: other } = await admin(gateway, "POST", path, { name: "other" });
    assert.equal((await models(key)).status, 200);
    for (let time = 0; time < 2; time++) {
      const revoked = await admin(gateway, "POST", `/keys/${keyId}/revoke`);
      assert.deepEqual(revoked, { status: 200, body: { id: keyId, status: "revoked" } });
      assert.equal((await models(key)).status, 401);
    }
    assert.equal((await models(String(other["key"]))).status, 200);
  });

  it("answers 404 where there is no such account or key", async () => {
    const movement = { amount_vnd: "1", reference: "nobody" };
    for (const id of [NOBODY, "nobody", "%00", "..%2f..", "'"]) {
      for (const [method, path, body] of [
        ["POST", `/accounts/${id}/keys`, { name: "x" }],
        ["POST", `/accounts/${id}/credits`, movement],
        ["GET", `/accounts/${id}/wallet`, undefined],
        ["GET", `/accounts/${id}/usage`, undefined],
        ["POST", `/keys/${id}/revoke`, {}],
      ] as const) {
        const answer = await admin(gateway, method, path, body);
        const error = answer.body["error"] as Record<string, unknown>;
        assert.equal(answer.status, 404, `${method} ${path}`);
        assert.equal(error["type"], "not_found_error");
        assert.equal(error["param"], path.startsWith("/keys") ? "key" : "account");
      }
    }
  });

  it("answers garbage with 400, too much of it with 413, and goes on", async () => {
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    const url = `${gateway.url}/admin/v1/accounts`;
    const bytes = Buffer.from([0, 255, 254, 1]);
    const deep = "[".repeat(30_000);
    for (const body of ["", "{", "null", "[]", '"x"', bytes, deep, '{"email":{"$ne":1}}']) {
      const response = await fetch(url, { method: "POST", headers, body });
      assert.equal(response.status, 400, String(body).slice(0, 20));
      assert.match(await response.text(), /invalid_request_error/);
    }
    const large = await fetch(url, { method: "POST", headers, body: " ".repeat(100_000) });
    assert.equal(large.status, 413);
    const { accountId } = await createCustomer(gateway);
    assert.equal(await credit(gateway, accountId, 1), "1");
  });
});
