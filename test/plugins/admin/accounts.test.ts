import assert from "node:assert/strict";
import t from "tap";
import { admin, createCustomer, credit } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";

const NOBODY = "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d";

t.test("admin API: accounts and keys", async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());

  t.test("creates an account once per address, in any case of letters", async (t) => {
    const first = await admin(gateway, "POST", "/accounts", { email: "Once@Example.com" });
    t.equal(first.status, 201);
    t.equal(first.body["email"], "once@example.com");
    const again = await admin(gateway, "POST", "/accounts", { email: "onCE@example.com" });
    t.equal(again.status, 409);
    t.strictSame(again.body["error"], {
      type: "invalid_request_error",
      message: "An account with this email address already exists.",
      param: "email",
      code: "email_taken",
    });
    const { body } = await admin(gateway, "GET", "/accounts");
    assert.ok(Array.isArray(body["list"]));
    const { created_at, ...listed } = body["list"].find(({ id }) => id === first.body["id"]);
    t.ok(!Number.isNaN(Date.parse(created_at)));
    t.strictSame(listed, { ...first.body, status: "active", discount_bps: 0 });
  });

  t.test("gives an address to one of twenty requests at once", async (t) => {
    const email = "race@example.com";
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => admin(gateway, "POST", "/accounts", { email })),
    );
    t.equal(answers.filter(({ status }) => status === 201).length, 1);
    t.equal(answers.filter(({ status }) => status === 409).length, 19);
  });

  t.test("notes in the audit trail which limits a new key got", async (t) => {
    const { accountId, email } = await createCustomer(gateway);
    const limits = { day_vnd: "5000", models: ["claude-*", "gpt-5"] };
    await admin(gateway, "POST", `/accounts/${accountId}/keys`, { name: "laptop", limits });
    const { body } = await admin(gateway, "GET", `/actions?account=${accountId}&limit=1`);
    const made = `created the key laptop of ${email}; models: claude-*, gpt-5; đ a day: 5,000`;
    t.match(JSON.stringify(body["list"]), made);
  });

  t.test("replies 404 for an unknown account or key", async (t) => {
    const movement = { amount_vnd: "1", reference: "nobody" };
    for (const id of [NOBODY, "nobody", "%00", "..%252f..", "'"]) {
      for (const [method, path, body] of [
        ["POST", `/accounts/${id}/keys`, { name: "x" }],
        ["POST", `/accounts/${id}/credits`, movement],
        ["GET", `/accounts/${id}/wallet`, undefined],
        ["GET", `/accounts/${id}/usage`, undefined],
        ["POST", `/keys/${id}/revoke`, {}],
      ] as const) {
        const answer = await admin(gateway, method, path, body);
        const error = answer.body["error"] as Record<string, unknown>;
        t.equal(answer.status, 404, `${method} ${path}`);
        t.equal(error["type"], "not_found_error");
        t.equal(error["param"], path.startsWith("/keys") ? "key" : "account");
      }
    }
  });

  t.test("replies 400 to garbage and 413 to too much of it, and keeps serving", async (t) => {
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    const url = `${gateway.url}/admin/v1/accounts`;
    const bytes = Buffer.from([0, 255, 254, 1]);
    const deep = "[".repeat(30_000);
    for (const body of ["", "{", "null", "[]", '"x"', bytes, deep, '{"email":{"$ne":1}}']) {
      const response = await fetch(url, { method: "POST", headers, body });
      t.equal(response.status, 400, String(body).slice(0, 20));
      t.match(await response.text(), /invalid_request_error/);
    }
    const large = await fetch(url, { method: "POST", headers, body: " ".repeat(100_000) });
    t.equal(large.status, 413);
    const { accountId } = await createCustomer(gateway);
    t.equal(await credit(gateway, accountId, 1), "1");
  });
});
