import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { admin, committedWallet } from "../support/admin.ts";
import { customerWith } from "../support/billed.ts";
import { BrowserSession } from "../support/browser-session.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bodies, get, paths, post, reload } from "../support/requests.ts";
import { until } from "../support/until.ts";

/**
 * Serves a route to customers and replies with their account. It does not declare that it uses the
 * guard, so it runs without one.
 */
const ASKING = `
import { addCustomerRoutes, done } from ${JSON.stringify(import.meta.resolve("../../core/plugin/index.js"))};
export default (services) => ({
  name: "asking",
  routes(router) {
    const handle = async (request, { accountId }) => done({ accountId });
    addCustomerRoutes(router, services, "/asking", [{ method: "GET", path: "/me", handle }]);
  },
});
`;

/** Lets every customer and operator in, and does not withdraw either guard when it stops. */
const FORGETFUL = `
export const options = undefined;
export const provides = ["guards.customer", "guards.operator"];
export default (services) => ({
  name: "forgetful",
  async start() {
    services.guards.operator.provide(async () => ({ name: "a", role: "owner", person: "a" }));
    services.guards.customer.provide(async () => ({
      accountId: "forgetful", email: "a@tollgate.test", isEmailVerified: true, sessionId: "1",
    }));
  },
});
`;

/** Fills the slots and then fails to start. */
const FAILING = `
export default (services) => ({
  name: "failing",
  async start() {
    services.guards.customer.provide(async () => { throw new Error("a plugin that failed to start was called"); });
    services.modelNames.provide({ resolve: () => { throw new Error("a plugin that failed to start was called"); } });
    services.discounts.provide(async () => { throw new Error("a plugin that failed to start was called"); });
    throw new Error("it fails to start");
  },
});
`;

/** Logs when it stops. */
const stopping = (name: string, methods: string) => `
export default (services) => ({
  name: "${name}",
  ${methods}
  async stop() { services.log.info("${name} stops"); },
});
`;

let gateway: TestGateway;
let folder: string;
let asking: string;

t.before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  asking = file("asking.js", ASKING);
  gateway = await startGateway({ plugins: { demo: true, [asking]: true } });
});
t.teardown(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});
t.afterEach(() => reload(gateway, {}));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const SWITCHED_OFF =
  "This needs the plugin accounts, which is switched off: add it to the config's list of plugins.";

/** A config without accounts, so that no customer can sign in. */
const WITHOUT_CUSTOMERS = { accounts: false, dashboard: false, topup: false } as const;
const WITHOUT_ADMIN = {
  config: { admin: { token: undefined } },
  plugins: { admin: false, console: false },
} as const;

/** The session cookie of a customer. */
async function signedIn(): Promise<string> {
  const session = new BrowserSession(gateway);
  const password = readFileSync(join(gateway.data, "demo-password"), "utf8").trim();
  const { status, text } = await session.signIn("demo@tollgate.local", password);
  assert.equal(status, 200, text);
  return session.cookie ?? "";
}

/** The status and, for a customer who was let in, the account. */
async function me(cookie: string): Promise<readonly [status: number, said: unknown]> {
  const { status, json } = await get(gateway, "/asking/me", undefined, { cookie });
  return [status, json?.accountId ?? json?.error?.message];
}

t.test("a plugin that a reload has switched off no longer decides anything", async (t) => {
  t.test("accounts, after two reloads: its old cookies get 503", async (t) => {
    const cookie = await signedIn();
    t.equal((await me(cookie))[0], 200);
    await reload(gateway, { plugins: { accounts: { active_keys_max: 3 } } });
    t.equal((await me(cookie))[0], 200);
    await reload(gateway, { plugins: WITHOUT_CUSTOMERS });
    t.strictSame(await me(cookie), [503, SWITCHED_OFF]);
  });

  t.test("accounts, while a call from before the reload still runs", async (t) => {
    const cookie = await signedIn();
    const customer = await customerWith(gateway);
    // The first call of a key may get 503 on a busy machine, since nothing is cached.
    await until("the key is cached", async () => {
      return (await post(gateway, paths.chat, customer, bodies.chat())).status === 200;
    });
    const running = post(
      gateway,
      paths.chat,
      customer,
      bodies.chat({ delay_ms: 600_000, until: "reloaded" }),
    );
    await until("the call is open", async () => {
      const { text } = await get(gateway, "/metrics", undefined);
      return /^tollgate_open_calls 1$/m.test(text);
    });
    await reload(gateway, { plugins: WITHOUT_CUSTOMERS });
    t.strictSame(await me(cookie), [503, SWITCHED_OFF]);
    await gateway.simulator.release("reloaded");
    const { status, text } = await running;
    t.equal(status, 200, text);
  });

  t.test(
    "admin: operator routes of other plugins get 503, even with the right token",
    async (t) => {
      const state = () => admin(gateway, "GET", "/maintenance");
      t.equal((await state()).status, 200);
      const headers = { authorization: `Bearer ${gateway.adminToken}` };
      await reload(gateway, WITHOUT_ADMIN);
      const { status } = await get(gateway, "/admin/v1/maintenance", undefined, headers);
      t.equal(status, 503);
    },
  );

  t.test("one that does not withdraw what it provided", async (t) => {
    const forgetful = file("forgetful.js", FORGETFUL);
    await reload(gateway, { plugins: { ...WITHOUT_CUSTOMERS, [forgetful]: true } });
    t.strictSame(await me(""), [200, "forgetful"]);
    await reload(gateway, { plugins: WITHOUT_CUSTOMERS });
    t.strictSame(await me(""), [503, SWITCHED_OFF]);
    await reload(gateway, {});
    t.equal((await me(""))[0], 401);
  });

  t.test("alias: names of families are unknown again", async (t) => {
    const customer = await customerWith(gateway);
    const call = () =>
      post(gateway, paths.messages, customer, bodies.messages({}, { model: "opus" }));
    await reload(gateway, { plugins: { alias: { unknown: "refuse" } } });
    t.equal((await call()).status, 200);
    await reload(gateway, { plugins: { alias: false } });
    t.equal((await call()).status, 404);
  });
});

t.test("a reload that fails", async (t) => {
  t.test("leaves what plugins provide exactly as it was", async (t) => {
    const cookie = await signedIn();
    const before = await me(cookie);
    t.equal(before[0], 200);
    const failing = file("failing.js", FAILING);
    gateway.configure({ plugins: { [failing]: true } });
    gateway.signal("SIGHUP");
    await until("the log says so", () => gateway.logs.includes("it fails to start"));
    t.strictSame(await me(cookie), before);
    // A new key queries every source of discounts, and a family's name queries alias.
    const customer = await customerWith(gateway);
    const { status } = await post(
      gateway,
      "/v1/messages/count_tokens",
      customer,
      bodies.messages({}, { model: "opus", max_tokens: undefined }),
    );
    t.equal(status, 200);
  });

  t.test("logs the line if the order of plugins is wrong", async (t) => {
    const before = gateway.logs.length;
    gateway.configure({ config: { plugins: ["auth", "settle", "meter", "admin"] } });
    gateway.signal("SIGHUP");
    const refusal = "expected settle after meter, which sets usage";
    await until("it is refused", () => gateway.logs.slice(before).includes(refusal));
    const customer = await customerWith(gateway);
    t.equal((await post(gateway, paths.chat, customer, bodies.chat())).status, 200);
  });
});

t.test("a reload", async (t) => {
  t.test("ends the tasks of plugins that it drops while their calls go on", async (t) => {
    const idle = file("idle.js", stopping("idle", ""));
    const called = file("called.js", stopping("called", "close() {},"));
    const plugins: Record<string, true> = { [idle]: true, [called]: true };
    await reload(gateway, { plugins });
    const customer = await customerWith(gateway);
    const asked = async () => (await gateway.simulator.stats())[paths.chat]?.["calls"] ?? 0;
    const before = await asked();
    const slow = { delay_ms: 600_000, until: "a reload" };
    const call = post(gateway, paths.chat, customer, bodies.chat(slow));
    await until("the provider has it", async () => (await asked()) > before);
    await reload(gateway, {});
    await until("the tasks end", () => gateway.logs.includes("idle stops"));
    t.notMatch(gateway.logs, "called stops");
    await gateway.simulator.release("a reload");
    t.equal((await call).status, 200);
    await until("the other one ends too", () => gateway.logs.includes("called stops"));
  });

  t.test("applies a changed headers.prefix in every plugin", async (t) => {
    await reload(gateway, { config: { headers: { prefix: "x-acme-" } } });
    const customer = await customerWith(gateway);
    const body = bodies.chat({}, { model: "opus", seed: 1, logit_bias: { 1: 1 } });
    const { status, headers } = await post(gateway, paths.chat, customer, body);
    t.equal(status, 200);
    const names = [...headers.keys()];
    for (const name of [
      "model",
      "model-mapped-from",
      "input-tokens",
      "cost-vnd",
      "price-vnd-per-mtok",
      "translate-dropped",
    ]) {
      t.ok(names.includes(`x-acme-${name}`), `${name}: ${names.join()}`);
    }
    t.strictSame(
      names.filter((name) => name.startsWith("x-svc-")),
      [],
    );
    await committedWallet(gateway, customer.accountId);
  });

  t.test(
    "names the settings that need a restart, each time until there is one, and applies the rest",
    async (t) => {
      const named = /reloaded; these need a restart: ([^"]*)"/g;
      const seen = () => [...gateway.logs.matchAll(named)].map(([, list]) => list);
      const before = seen().length;
      const config = {
        listen: { port: gateway.port + 1, host: "127.0.0.2" },
        stores: { data: "./elsewhere" },
        limits: { header_kb: 32, key_cache_mb: 32 },
        headers: { prefix: "x-acme-" },
      };
      await reload(gateway, { config });
      await reload(gateway, { config });
      const list = "listen.host, listen.port, stores.data, limits.header_kb, limits.key_cache_mb";
      t.strictSame(seen().slice(before), [list, list]);
      const customer = await customerWith(gateway);
      const { headers } = await post(gateway, paths.chat, customer, bodies.chat());
      t.ok(headers.has("x-acme-cost-vnd"));
      await reload(gateway, {});
      t.equal(seen().length, before + 2);
    },
  );

  t.test("applies another admin token to what is sealed with it, as a restart does", async (t) => {
    const customer = await customerWith(gateway);
    const user = async () => {
      const body = bodies.chat({ echo: true }, { user: "u1" });
      const { json } = await post(gateway, paths.chat, customer, body);
      return JSON.parse(json.choices[0].message.content).body.user;
    };
    const before = await user();
    t.match(before, /^[0-9a-f]{64}$/);
    t.equal(await user(), before);
    await reload(gateway, { config: { admin: { token: "b".repeat(32) } } });
    t.not(await user(), before);
  });

  t.test("applies a changed log level at once", async (t) => {
    const customer = await customerWith(gateway);
    const lines = () => gateway.logs.match(/"msg":"call"/g)?.length ?? 0;
    const call = async () => {
      t.equal((await post(gateway, paths.chat, customer, bodies.chat())).status, 200);
    };
    const before = lines();
    await call();
    await until("the call is logged", () => lines() === before + 1);
    // At this level the line "reloaded" is a warning, as for a change that needs a restart.
    await reload(gateway, {
      config: { log: { level: "warn" }, listen: { port: gateway.port + 1 } },
    });
    await call();
    await reload(gateway, {});
    await call();
    await until("the call after it is logged", () => lines() >= before + 2);
    t.equal(lines(), before + 2);
  });
});
