import t from "tap";
import { connect } from "../../../core/database/client.ts";
import { MovementPending } from "../../../core/money/ledger.ts";
import type { Services } from "../../../core/plugin/index.ts";
import { addOperatorRoutes, type OperatorRoute } from "../../../core/plugin/json-route.ts";
import { type Operator, roles } from "../../../core/plugin/operator.ts";
import { type PlainRequest, Router } from "../../../core/plugin/router.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres } from "../../support/postgres.ts";

/** Both stores reply when a failed request asks them. */
const servicesOf = (operator: Operator) =>
  ({
    log: recordedLog().log,
    guards: { operator: { current: async () => operator } },
    operatorActions: { begin: async () => 1n, end: async () => {} },
    status: { holdStoreHealth: () => ({ kind: "ok" }), pingLedger: async () => {} },
  }) as unknown as Services;
const SERVICES = servicesOf({ name: "a", role: "owner", person: "a" });

async function replyOf(handle: OperatorRoute["handle"]) {
  const router = new Router();
  addOperatorRoutes(router, SERVICES, "/admin", [{ method: "GET", path: "/tried", handle }]);
  const [route] = router.all();
  if (route === undefined || !("handler" in route)) throw new Error("the route is missing");
  return route.handler({ path: route.path, headers: {} } as PlainRequest);
}

t.test(
  "an operator learns that a statement took too long, and that to try again is safe",
  async (t) => {
    const { log } = recordedLog();
    const postgres = await startPostgres();
    const sql = connect({
      server: { url: postgres.url },
      connectionsMax: 1,
      statementTimeoutMs: 50,
      log,
    });
    t.teardown(async () => {
      await sql.end(1);
      await postgres.stop();
    });
    const statusOf = (statement: string) =>
      replyOf(async () => {
        await sql.query(statement);
        return { status: 200 };
      });
    t.match(await statusOf("select 1"), { status: 200 });
    const slow = await statusOf("select pg_sleep(30)");
    t.match(slow, { status: 503, body: /took the ledger too long.*Try again/ });
    await t.rejects(statusOf("select 1 / 0 as bug"), /division by zero/);
  },
);

t.test(
  "a top-up that the hold store applies later is 503, although the store replies again",
  async (t) => {
    const cause = new Error("no reply");
    const reply = await replyOf(() => Promise.reject(new MovementPending("later", { cause })));
    t.match(reply, { status: 503, body: /One of the stores has it.*counts once/ });
  },
);

t.test("each role may do what its rights say, and no route is open by oversight", async (t) => {
  const handle = async () => ({ status: 200, body: '{"email":"minh@example.com"}' });
  const CASES = [
    // method, right, roles that may
    ["GET", undefined, "viewer support finance operations owner"],
    ["GET", "customers", "support finance operations owner"],
    ["POST", "support", "support owner"],
    ["POST", "refund", "support finance owner"],
    ["POST", "money", "finance owner"],
    ["DELETE", "operations", "operations owner"],
    ["POST", "owner", "owner"],
    ["POST", undefined, "owner"],
  ] as const;
  for (const [method, right, may] of CASES) {
    const allowed: string[] = [];
    for (const role of roles.names) {
      const router = new Router();
      const services = servicesOf({ name: role, role, person: role });
      const route = { method, path: "/tried", handle, ...(right && { right }) };
      addOperatorRoutes(router, services, "/admin", [route]);
      const [made] = router.all();
      if (made === undefined || !("handler" in made)) throw new Error("the route is missing");
      const request = { path: made.path, headers: {}, params: {}, body: Buffer.from("{}") };
      const reply = await made.handler(request as unknown as PlainRequest);
      if (reply.status === 200) allowed.push(role);
      else t.match(reply, { status: 403, body: /"permission_error".*"role_forbids"/ });
    }
    t.equal(allowed.join(" "), may, `${method} ${right}`);
  }
});

t.test("a viewer reads no address of a customer, and gets no file", async (t) => {
  const router = new Router();
  const services = servicesOf({ name: "v@shop.test", role: "viewer", person: "v@shop.test" });
  const told =
    '[{"email":"minh.tran@example.com","note":"(lan@vi.vn) v@shop.test tg-AoT27ys a \\"b@c.d\\""}]';
  const bodies: Record<string, string | Uint8Array> = {
    "/text": told,
    "/file": Buffer.from(told),
  };
  addOperatorRoutes(
    router,
    services,
    "/admin",
    Object.keys(bodies).map((path) => ({
      method: "GET" as const,
      path,
      handle: async () => ({ status: 200, body: bodies[path] ?? "" }),
    })),
  );
  const [text, file] = await Promise.all(
    router.all().map((route) => {
      if (!("handler" in route)) throw new Error("the route is missing");
      return route.handler({ path: route.path, headers: {} } as PlainRequest);
    }),
  );
  t.match(text, {
    status: 200,
    body: '[{"email":"…@…","note":"(…@…) v@shop.test tg-… a \\"…@…\\""}]',
  });
  t.match(file, { status: 403, body: /role_forbids/ });
});

t.test(
  "money, operators and what gives an account away need a proof of who it is, if the operator has to give one",
  async (t) => {
    const person = { name: "a", role: "owner", person: "a", needsProof: true } as const;
    const statuses: string[] = [];
    const routes = [
      { right: "support" },
      { right: "support", needsProof: true },
      { right: "money" },
      { right: "owner" },
    ] as const;
    for (const given of routes) {
      const router = new Router();
      const handle = async () => ({ status: 200 });
      addOperatorRoutes(router, servicesOf(person), "/a", [
        { method: "POST", path: "/b", ...given, handle },
      ]);
      const [route] = router.all();
      if (route === undefined || !("handler" in route)) throw new Error("the route is missing");
      const request = { path: "/a/b", headers: {}, params: {}, body: Buffer.from("{}") };
      const reply = await route.handler(request as unknown as PlainRequest);
      statuses.push(`${given.right} ${reply.status}`);
    }
    t.strictSame(statuses, ["support 200", "support 403", "money 403", "owner 403"]);
  },
);
