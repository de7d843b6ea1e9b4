import { readFileSync } from "node:fs";
import t from "tap";
import { type Right, roles } from "../../../core/plugin/operator.ts";
import { objectOf, parseJson } from "../../../core/process/json.ts";
import { INVENTORY } from "../../inventory/inventory.ts";
import { type AdminTarget, admin, createCustomer, wallet } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import {
  anonymous,
  createOperator,
  OPERATOR_PASSWORD,
  type TestOperator,
  totpCode,
} from "../../support/operators.ts";
import { until } from "../../support/until.ts";
import { runCli } from "../admin/cli-runs.ts";

const BOUNDS = { support: 500_000, finance: 5_000_000, owner: 5_000_000, admin_token: 5_000_000 };
const LARGE = "7000000";
/** Before and after the sweep that ends a request. */
const LATE = /has waited for too long|is expired/;

t.test("operators", async (t) => {
  const gateway = await startGateway({
    plugins: { operators: { second_person_above_vnd: BOUNDS } },
  });
  const owner = await createOperator(gateway, "owner");
  const finance = await createOperator(gateway, "finance");
  t.teardown(() => gateway.close());

  const tokenOf = async (role: string): Promise<AdminTarget> => {
    const { status, body } = await admin(gateway, "POST", "/tokens", { name: role, role });
    t.equal(status, 201);
    return { url: gateway.url, adminToken: String(body["token"]) };
  };

  t.test("sign in with a password and a code, and are known by name and role", async (t) => {
    const { email, secret, session } = owner;
    t.match((await admin(session, "GET", "/me")).body, {
      name: email,
      role: "owner",
      is_person: true,
    });
    const signIn = (given: object) =>
      anonymous(gateway, "/sign-in", { email, password: OPERATOR_PASSWORD, ...given });
    t.match(await signIn({}), { status: 401, body: { error: { code: "second_factor_required" } } });
    t.match(await signIn({ code: "000000" }), {
      status: 403,
      body: { error: { code: "wrong_code" } },
    });
    t.match(await signIn({ password: "another long walk" }), {
      status: 401,
      body: { error: { code: "wrong_credentials" } },
    });
    const unknown = await signIn({ email: "no@shop.test" });
    t.match(unknown, { status: 401, body: { error: { code: "wrong_credentials" } } });
    t.match(
      await signIn({ code: owner.usedCode }),
      { status: 403 },
      "the code of the enrolment counts once",
    );
    const [recovery = ""] = owner.recoveryCodes;
    t.equal((await signIn({ code: recovery })).status, 200);
    t.equal((await signIn({ code: recovery })).status, 403, "a recovery code counts once");
    const signedIn = await signIn({ code: totpCode(secret) });
    t.equal(signedIn.status, 200);
    const other = { url: gateway.url, adminToken: String(signedIn.body["token"]) };
    t.equal((await admin(other, "GET", "/accounts")).status, 200);
    t.equal((await admin(other, "POST", "/sign-out", {})).status, 200);
    t.equal((await admin(other, "GET", "/accounts")).status, 401);
    t.equal((await admin(session, "GET", "/accounts")).status, 200, "the other session stays");
    t.notMatch(gateway.logs, OPERATOR_PASSWORD);
  });

  t.test("open a link once, and no weak password is taken", async (t) => {
    const { body } = await admin(gateway, "POST", "/operators", {
      email: "late@shop.test",
      role: "viewer",
    });
    const token = String(body["link"]).split("#token=")[1] ?? "";
    const first = (await anonymous(gateway, "/join", { token })).body["secret"];
    const { secret } = (await anonymous(gateway, "/join", { token })).body;
    t.not(secret, first, "who opened the link before does not know the second factor");
    const confirm = (password: string) =>
      anonymous(gateway, "/join/confirm", { token, password, code: totpCode(String(secret)) });
    t.match(await confirm("late@shop.test 1"), {
      status: 400,
      body: { error: { code: "weak_password" } },
    });
    const both = await Promise.all([confirm(OPERATOR_PASSWORD), confirm(OPERATOR_PASSWORD)]);
    t.strictSame(both.map(({ status }) => status).sort(), [200, 400]);
    t.match(await anonymous(gateway, "/join", { token }), {
      status: 400,
      body: { error: { code: "invalid_token" } },
    });
    t.equal((await anonymous(gateway, "/join", { token: "x".repeat(43) })).status, 400);
  });

  t.test("lose their sessions when they are removed or reset", async (t) => {
    const person = await createOperator(gateway, "support", "leaves@shop.test");
    t.equal((await admin(person.session, "GET", "/accounts")).status, 200);
    const reset = await admin(gateway, "POST", "/operators/leaves@shop.test/reset", {});
    t.match(reset, { status: 200, body: { link: /#token=/, tokens_in_use: 0 } });
    t.equal((await admin(person.session, "GET", "/accounts")).status, 401);
    t.equal((await admin(gateway, "POST", "/operators/leaves@shop.test/remove", {})).status, 200);
    const token = String(reset.body["link"]).split("#token=")[1] ?? "";
    t.equal((await anonymous(gateway, "/join", { token })).status, 400);
    const list = (await admin(gateway, "GET", "/operators")).body["list"] as { email: string }[];
    t.notOk(list.some(({ email }) => email === "leaves@shop.test"));
    const again = await admin(gateway, "POST", "/operators", {
      email: "leaves@shop.test",
      role: "viewer",
    });
    t.equal(again.status, 201, "and can be invited again");
  });

  t.test("give programs tokens that can be revoked, with one in use of a name", async (t) => {
    const made = await admin(owner.session, "POST", "/tokens", { name: "job", role: "viewer" });
    const program = { url: gateway.url, adminToken: String(made.body["token"]) };
    t.match((await admin(program, "GET", "/me")).body, { name: "token job", is_person: false });
    t.match(await admin(owner.session, "POST", "/tokens", { name: "job", role: "owner" }), {
      status: 409,
      body: { error: { code: "name_taken" } },
    });
    const { list } = (await admin(owner.session, "GET", "/tokens")).body;
    t.match(list, [{ name: "job", made_by: owner.email, revoked_at: null }]);
    t.notMatch(JSON.stringify(list), program.adminToken);
    t.equal((await admin(owner.session, "POST", "/tokens/job/revoke", {})).status, 200);
    t.equal((await admin(program, "GET", "/me")).status, 401);
    t.equal((await admin(owner.session, "POST", "/tokens/job/revoke", {})).status, 404);
  });

  t.test("make up to 1,000 tokens, of which those that have ended do not count", async (t) => {
    const fill = (name: string, ends: string) =>
      ledgerSql(
        gateway,
        `insert into operator_tokens (id, name, token_hash, role, person, made_at, ends_at)
        select gen_random_uuid(), '${name}-' || n, sha256(('${name}' || n)::bytea), 'viewer', 'x', now(), ${ends}
        from generate_series(1, 1000) n`,
      );
    const make = () => admin(owner.session, "POST", "/tokens", { name: "late", role: "viewer" });
    await fill("past", "now()");
    t.equal((await make()).status, 201);
    t.equal((await admin(owner.session, "POST", "/tokens/late/revoke", {})).status, 200);
    await fill("live", "now() + interval '1 day'");
    t.match(await make(), {
      status: 409,
      body: { error: { code: "tokens_full", message: /1000 tokens are in use/ } },
    });
    await ledgerSql(gateway, "delete from operator_tokens where person = 'x'");
  });

  t.test("lose the tokens that they made once they are no owners any more", async (t) => {
    const person = await createOperator(gateway, "owner", "founder@shop.test");
    const path = `/operators/${person.email}`;
    const tokenBy = async (name: string) => {
      const made = await admin(person.session, "POST", "/tokens", { name, role: "owner" });
      return { url: gateway.url, adminToken: String(made.body["token"]) };
    };
    const first = await tokenBy("first");
    t.equal((await admin(first, "GET", "/me")).status, 200);
    const demoted = await admin(owner.session, "POST", `${path}/role`, { role: "viewer" });
    t.match(demoted, { status: 200, body: { tokens_revoked: 1 } });
    t.equal((await admin(first, "GET", "/me")).status, 401);
    await admin(owner.session, "POST", `${path}/role`, { role: "owner" });
    const second = await tokenBy("second");
    const removed = await admin(owner.session, "POST", `${path}/remove`, {});
    t.match(removed, { status: 200, body: { tokens_revoked: 1 } });
    t.equal((await admin(second, "GET", "/me")).status, 401);
  });

  t.test("of each role reach each route as it declares", async (t) => {
    const targets = new Map<string, AdminTarget>();
    for (const role of roles.names) targets.set(role, await tokenOf(role));
    const lines = readFileSync(INVENTORY, "utf8").matchAll(
      /^route (\S+) (GET|POST|DELETE) operator (\w+)$/gm,
    );
    const routes = Array.from(lines, ([, path = "", method = "", right = ""]) => ({
      ...{ path, method, right: right as Right },
    }));
    t.ok(routes.length > 60, `${routes.length}`);
    const actions = async () =>
      ((await admin(gateway, "GET", "/actions?limit=1000")).body["list"] as object[]).length;
    for (const { method, path, right } of routes) {
      const before = await actions();
      for (const [role, { url, adminToken }] of targets) {
        const mayDo = roles.allow(role as (typeof roles.names)[number], right);
        const isChange = method !== "GET";
        if (mayDo && isChange) continue;
        const response = await fetch(url + path.replaceAll(/:\w+/g, "x"), {
          method,
          headers: { authorization: `Bearer ${adminToken}` },
          ...(isChange && { body: "{}" }),
        });
        const error = objectOf(objectOf(parseJson(await response.text()))?.["error"]) ?? {};
        const said = `${role} ${method} ${path}: ${response.status}`;
        if (mayDo) t.not(error["code"], "role_forbids", said);
        else {
          t.match(
            { status: response.status, ...error },
            {
              status: 403,
              type: "permission_error",
              code: "role_forbids",
              param: null,
            },
            said,
          );
        }
      }
      t.equal(await actions(), before, "nothing that was refused began");
    }
    const changes = routes.filter(({ method }) => method !== "GET");
    t.notOk(
      changes.some(({ right }) => roles.allow("viewer", right)),
      "a viewer changes nothing",
    );
  });

  t.test("see addresses of customers, but not as viewers", async (t) => {
    const customer = await createCustomer(gateway, { email: "minh@customer.test" });
    const { body } = await admin(gateway, "POST", "/tokens", { name: "watch", role: "viewer" });
    const watching = { url: gateway.url, adminToken: String(body["token"]) };
    const path = `/accounts/${customer.accountId}`;
    t.equal((await admin(finance.session, "GET", path)).body["email"], "minh@customer.test");
    const seen = await admin(watching, "GET", path);
    t.equal(seen.body["email"], "…@…");
    t.notMatch(JSON.stringify(await admin(watching, "GET", "/actions")), "minh@");
    const found = async (who: AdminTarget, query: string) =>
      (await admin(who, "GET", `/accounts?query=${encodeURIComponent(query)}`)).status;
    t.equal(await found(watching, "minh@"), 403, "parts of an address would spell it out");
    t.equal(await found(watching, customer.accountId), 200);
    t.equal(await found(finance.session, "minh@"), 200);
  });

  t.test("move much money only as two", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const path = `/accounts/${accountId}/credits`;
    const body = { amount_vnd: LARGE, reference: "large-1", reason: "a contract" };
    t.match(
      await admin(finance.session, "POST", path, {
        ...body,
        amount_vnd: "5000000",
        reference: "small",
      }),
      {
        status: 200,
      },
    );
    const first = await admin(finance.session, "POST", path, body);
    t.match(first, { status: 428, body: { error: { code: "approval_needed" } } });
    const again = await admin(finance.session, "POST", path, body);
    t.strictSame(again, first, "it waits once");
    t.match(await admin(finance.session, "POST", path, { ...body, amount_vnd: "8000000" }), {
      status: 409,
      body: { error: { code: "reference_conflict" } },
    });
    t.equal((await wallet(gateway, accountId)).balance, "5000000");
    const { list } = (await admin(owner.session, "GET", "/approvals?state=pending")).body;
    const [{ id }] = list as [{ id: string }];
    t.match(list, [
      {
        account_id: accountId,
        amount_vnd: LARGE,
        reason: "a contract",
        proposed_by: finance.email,
      },
    ]);
    t.match(await admin(finance.session, "POST", `/approvals/${id}/approve`, {}), {
      status: 403,
      body: { error: { code: "own_approval" } },
    });
    const approved = await Promise.all(
      Array.from({ length: 50 }, () =>
        admin(owner.session, "POST", `/approvals/${id}/approve`, {}),
      ),
    );
    t.ok(
      approved.every(({ status }) => status === 200),
      "50 approvals at once",
    );
    const approvals = (await admin(owner.session, "GET", "/approvals?limit=1")).body["list"];
    t.match(approvals, [{ id, state: "done", decided_by: owner.email }]);
    t.equal((await wallet(gateway, accountId)).balance, "12000000");
    const said = async ({ email }: TestOperator) => {
      const asked = `/actions?operator=${encodeURIComponent(email)}&account=${accountId}&language=vi`;
      const { list } = (await admin(owner.session, "GET", asked)).body;
      return (list as { sentence: string }[]).map(({ sentence }) => sentence);
    };
    const credited = "cộng 7.000.000 đ cho";
    t.match((await said(owner)).join(), `${owner.email} ${credited}`);
    t.match(
      (await said(finance)).join(),
      /finance@shop.test cộng 7.000.000 đ cho [^;]*; chờ người thứ hai/,
    );
    t.match(await admin(finance.session, "POST", path, body), {
      status: 200,
      body: { applied: false },
    });
    t.equal((await wallet(gateway, accountId)).balance, "12000000");
  });

  t.test("make vouchers that are worth much only as two", async (t) => {
    const { accountId, key } = await createCustomer(gateway);
    const redeem = async (code: string) => {
      const response = await fetch(`${gateway.url}/v1/vouchers`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ code }),
      });
      return response.status;
    };
    const make = async (count: number) => {
      const body = { amount_vnd: "3000000", count, until: "2099-12-31", note: "a fair" };
      const made = await admin(owner.session, "POST", "/vouchers", body);
      t.equal(made.status, count === 1 ? 201 : 202);
      if (count > 1) t.match(made.body["notice"], /not valid yet. More than .* as approval /);
      const { id, state, list } = made.body as unknown as {
        readonly id: string;
        readonly state: string;
        readonly list: readonly { readonly code: string; readonly state: string }[];
      };
      return { id, state, codes: list.map(({ code }) => code), rows: list };
    };
    t.match(await make(1), { state: "open" }, "3,000,000 đ are within the bound");

    const { id, state, codes, rows } = await make(2);
    const [first = "", second = ""] = codes;
    t.equal(state, "waiting");
    t.match(rows, [{ state: "waiting" }, { state: "waiting" }]);
    t.equal(await redeem(first), 404);
    const open = (by: AdminTarget) => admin(by, "POST", `/vouchers/${id}/open`, {});
    t.match(await open(owner.session), {
      status: 428,
      body: { error: { code: "approval_needed" } },
    });
    const { list } = (await admin(owner.session, "GET", "/approvals?state=pending")).body;
    const [approval, ...others] = list as [{ id: string }];
    t.strictSame(others, [], "it waits once");
    t.match(approval, {
      ...{ action: "open", account_id: null, email: null, amount_vnd: "6000000", reason: "a fair" },
      path: `/admin/v1/vouchers/${id}/open`,
    });
    await until("the gauge shows it", async () => {
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
      return /^tollgate_pending_approvals 1$/m.test(metrics);
    });
    const approve = (by: AdminTarget) => admin(by, "POST", `/approvals/${approval.id}/approve`, {});
    t.equal((await approve(owner.session)).status, 403);
    t.match(await approve(finance.session), { status: 200, body: { state: "done" } });
    t.equal(await redeem(first), 200);
    const actions = (await admin(owner.session, "GET", "/actions?limit=3")).body["list"];
    const sentences = (actions as { sentence: string }[]).map(({ sentence }) => sentence);
    const asked = `${approval.id}: 6,000,000 đ, asked by ${owner.email}`;
    t.match(sentences, [
      `${finance.email} opened the vouchers ${id} (a fair)`,
      `${finance.email} approved ${asked}`,
      `${owner.email} approved ${asked}; it was refused (403)`,
    ]);
    t.match((await open(owner.session)).body, { state: "open" }, "it is open for good");
    await admin(owner.session, "POST", `/vouchers/${id}/cancel`, {});
    t.equal(await redeem(second), 404);
    t.equal((await wallet(gateway, accountId)).balance, "3000000");

    const refused = await make(2);
    const pending = (await admin(owner.session, "GET", "/approvals?state=pending")).body["list"];
    const [{ id: next }] = pending as [{ id: string }];
    await admin(finance.session, "POST", `/approvals/${next}/refuse`, { reason: "too many" });
    t.match((await admin(owner.session, "GET", `/vouchers/${refused.id}`)).body, {
      state: "waiting",
    });
    await admin(owner.session, "POST", `/vouchers/${refused.id}/cancel`, {});
    const late = await make(2);
    await admin(owner.session, "POST", `/vouchers/${late.id}/cancel`, {});
    t.strictSame(
      (await admin(owner.session, "GET", "/approvals?state=pending")).body["list"],
      [],
      "nothing waits for a batch that is cancelled",
    );
    t.match(await admin(owner.session, "POST", `/vouchers/${refused.id}/open`, {}), {
      ...{ status: 409, body: { error: { code: "voucher_cancelled" } } },
    });
  });

  t.test("hear that what they approve cannot be made", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: 50 });
    const body = { amount_vnd: `-${LARGE}`, reference: "too-much", reason: "a mistake" };
    await admin(finance.session, "POST", `/accounts/${accountId}/adjustments`, body);
    const { list } = (await admin(owner.session, "GET", "/approvals?state=pending")).body;
    const [{ id }] = list as [{ id: string }];
    const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
    const { findings } = JSON.parse((await runCli(["doctor", "--json"], { env })).stdout);
    t.match(findings, [
      {
        problem: "money waits for a second person",
        detail: `-${LARGE} đ, adjustments of `,
        command: `approval approve --approval ${id}`,
      },
    ]);
    t.match(await admin(owner.session, "POST", `/approvals/${id}/approve`, {}), {
      ...{ status: 409, body: { error: { code: "approval_failed", message: /has only 50 đ/ } } },
    });
    t.match((await admin(owner.session, "GET", "/approvals?limit=1")).body["list"], [
      { id, state: "failed", note: /has only 50 đ/ },
    ]);
  });

  t.test(
    "withdraw what they have asked for by mistake, and no one else's without the right",
    async (t) => {
      const { accountId } = await createCustomer(gateway);
      const path = `/accounts/${accountId}/credits`;
      const body = { amount_vnd: LARGE, reference: "mistake", reason: "a contract" };
      const askedAgain = async () => {
        t.equal((await admin(finance.session, "POST", path, body)).status, 428);
        const { list } = (await admin(owner.session, "GET", "/approvals?state=pending")).body;
        const [{ id }, ...others] = list as [{ id: string }];
        t.strictSame(others, []);
        return `/approvals/${id}`;
      };
      const support = await createOperator(gateway, "support");
      const first = await askedAgain();
      const reason = { reason: "the wrong customer" };
      t.match(await admin(support.session, "POST", `${first}/refuse`, reason), {
        status: 403,
        body: { error: { code: "role_forbids" } },
      });
      t.match(await admin(finance.session, "POST", `${first}/approve`, {}), {
        status: 403,
        body: { error: { code: "own_approval" } },
      });
      t.match(await admin(finance.session, "POST", `${first}/refuse`, reason), {
        status: 200,
        body: { state: "refused", decided_by: finance.email, note: "the wrong customer" },
      });
      t.equal((await admin(owner.session, "POST", `${first}/approve`, {})).status, 409);
      const next = await askedAgain();
      t.not(next, first, "it can be asked for again");
      t.equal((await admin(owner.session, "POST", `${next}/refuse`, reason)).status, 200);
      t.equal((await wallet(gateway, accountId)).balance, "0");
    },
  );

  t.test("hear that what they approve or withdraw has waited for too long", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const support = await createOperator(gateway, "support", "late-asker@shop.test");
    const body = { amount_vnd: LARGE, reference: "forgotten", reason: "a contract" };
    const path = `/accounts/${accountId}/credits`;
    t.equal((await admin(finance.session, "POST", path, body)).status, 428);
    const { list } = (await admin(owner.session, "GET", "/approvals?state=pending")).body;
    const [{ id }] = list as [{ id: string }];
    const old = "update operator_approvals set proposed_at = proposed_at - interval '8 days'";
    await ledgerSql(gateway, `${old}, proposed_person = '${support.email}' where id = '${id}'`);
    const reason = { reason: "too late" };
    for (const { session } of [support, finance]) {
      t.match(await admin(session, "POST", `/approvals/${id}/refuse`, reason), {
        status: 409,
        body: { error: { message: LATE } },
      });
    }
    t.match(await admin(owner.session, "POST", `/approvals/${id}/approve`, {}), {
      status: 409,
      body: { error: { message: LATE } },
    });
  });

  t.test("count the shared token as one of the two, and what it made too", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const path = `/accounts/${accountId}/adjustments`;
    const made = await admin(gateway, "POST", "/tokens", { name: "second", role: "owner" });
    const program = { url: gateway.url, adminToken: String(made.body["token"]) };
    const body = { amount_vnd: LARGE, reference: "by-token", reason: "a gift" };
    t.equal((await admin(gateway, "POST", path, body)).status, 428);
    const { list } = (await admin(gateway, "GET", "/approvals?state=pending")).body;
    const [{ id }] = list as [{ id: string }];
    for (const one of [gateway, program]) {
      t.equal((await admin(one, "POST", `/approvals/${id}/approve`, {})).status, 403);
    }
    const refused = await admin(finance.session, "POST", `/approvals/${id}/refuse`, {
      reason: "not agreed",
    });
    t.match(refused, { status: 200, body: { state: "refused", note: "not agreed" } });
    t.match(await admin(owner.session, "POST", `/approvals/${id}/approve`, {}), {
      status: 409,
      body: { error: { code: "approval_decided" } },
    });
    t.equal((await wallet(gateway, accountId)).balance, "0");
  });
});
