import t from "tap";
import { connect } from "../../../core/database/client.ts";
import { MovementPending } from "../../../core/money/ledger.ts";
import type { Services } from "../../../core/plugin/index.ts";
import { addOperatorRoutes, type OperatorRoute } from "../../../core/plugin/json-route.ts";
import { type PlainRequest, Router } from "../../../core/plugin/router.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres } from "../../support/postgres.ts";

/** Both stores reply when a failed request asks them. */
const SERVICES = {
  log: recordedLog().log,
  guards: { operator: { current: async () => undefined } },
  status: { holdStoreHealth: () => ({ kind: "ok" }), pingLedger: async () => {} },
} as unknown as Services;

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
