import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { type Customer, createCustomer } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages";
/** The bound of `core/boot/money.ts`. */
const FULL = 200_000;
const ALMOST_FULL = 199_999;
const WAITS = "the ledger is slower than the calls; new calls wait";

/** Reports any number of uncommitted calls: `POST /backlog?calls=N`. */
const PLUGIN = `
import { Backlog } from "${join(packageRoot, "dist/core/money/backlog.js")}";
export default () => ({
  name: "backlog",
  routes(router) {
    router.addRoute({
      method: "POST", path: "/backlog", access: "public", bodyBytesMax: 0,
      handler({ query }) {
        const calls = Number(query.get("calls"));
        Object.defineProperty(Backlog.prototype, "calls", { configurable: true, get: () => calls });
        return { status: 204, headers: [], body: "" };
      },
    });
  },
});
`;

let gateway: TestGateway;
let folder: string;
let customer: Customer;

t.before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const plugin = join(folder, "backlog.js");
  writeFileSync(plugin, PLUGIN);
  const plugins = ["auth", "alias", "translate", "meter", "settle", "admin", plugin];
  // As it was built: the plugin changes one of its modules.
  gateway = await startGateway({ config: { plugins }, root: packageRoot });
  customer = await createCustomer(gateway, { creditVnd: 10_000 });
});
t.teardown(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

async function reportBacklog(calls: number): Promise<void> {
  await fetch(`${gateway.url}/backlog?calls=${calls}`, { method: "POST" });
}

function call(key = customer.key): Promise<Response> {
  return ask(gateway.url, key, PATH, bodyOf(PATH));
}

function waits(): number {
  return gateway.logs.split(WAITS).length - 1;
}

t.test("a full outbox", async (t) => {
  await reportBacklog(FULL);
  const refused = await call("unknown key");
  t.equal(refused.status, 503, "refuses a call before any plugin runs");
  const seconds = Number(refused.headers.get("retry-after"));
  t.ok(seconds >= 1 && seconds <= 30, `retry-after: ${seconds}`);
  t.match(await refused.json(), { type: "error", error: { type: "service_unavailable" } });
  const models = await fetch(`${gateway.url}/v1/models`, {
    headers: { authorization: `Bearer ${customer.key}` },
  });
  t.equal(models.status, 200, "serves what costs nothing");
  await reportBacklog(0);
  t.equal((await call()).status, 200, "serves calls again once it has room");
});

t.test("an outbox that is almost full lets calls wait until it has room", async (t) => {
  await reportBacklog(ALMOST_FULL);
  const waiting = call();
  await until("the call waits", () => waits() === 1);
  await reportBacklog(0);
  t.equal((await waiting).status, 200);
});

t.test("a gateway that stops serves the calls that wait", async (t) => {
  await gateway.stop();
  await gateway.start();
  await reportBacklog(ALMOST_FULL);
  const waiting = call();
  await until("the call waits", () => waits() === 2);
  const stopped = gateway.stop();
  t.equal((await waiting).status, 200);
  t.equal(await stopped, 0);
});
