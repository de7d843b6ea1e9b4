import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { Gateway } from "../../core/boot/gateway.ts";
import { endpoints } from "../../core/catalogue/endpoint.ts";
import { loadConfig } from "../../core/config/load.ts";
import { createLog } from "../../core/process/log.ts";
import { customerWith } from "../support/billed.ts";
import { startGateway } from "../support/gateway.ts";
import { testConfig, writeConfig } from "../support/gateway-config.ts";
import { copyEmptyLedger } from "../support/ledger-template.ts";
import { bodies, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

const IMAGE = "iVBORw0KGgo=";

/** The message of maintenance, which pages show before anyone signs in. */
const SHOWN_TO_ALL = "/account/v1/maintenance";

/** A call for each billable endpoint that succeeds on a complete gateway: its catalogue has no model for embeddings. */
const CALLS = [
  [paths.messages, bodies.messages()],
  [paths.chat, bodies.chat()],
  [paths.responses, bodies.responses()],
  [paths.images, bodies.images()],
  [paths.edits, bodies.images({}, { image: IMAGE })],
  [paths.speech, bodies.speech()],
] as const;

t.test("no stray access", async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());

  t.test("every route of a gateway that runs the shipped plugins", async (t) => {
    // Routes are not visible from outside, so this gateway runs in the test's own process.
    const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
    const file = join(folder, "gateway.yaml");
    const around = { port: 0, data: folder, simulatorPort: 1, adminToken: "token" };
    writeConfig(file, testConfig({}, around));
    await copyEmptyLedger(folder);
    const loaded = await loadConfig(file, process.env);
    assert.ok(loaded.ok);
    const inProcess = await Gateway.start(loaded.config, createLog("silent"));
    const routes = inProcess.router.all();
    t.teardown(async () => {
      await inProcess.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    t.test("under /v1 is a call or needs a key", async (t) => {
      const under = routes.filter((route) => route.path.startsWith("/v1"));
      t.ok(under.length >= 9);
      for (const { method, path, access } of under) {
        t.ok(access === "call" || access === "key", `${method} ${path} is ${access}`);
      }
    });

    t.test("that calls an upstream is one of the endpoints, and a call", async (t) => {
      const calls = routes.filter((route) => route.access === "call");
      t.strictSame(
        calls.map((route) => `${route.method} ${route.path}`).sort(),
        endpoints.map((endpoint) => `POST ${endpoint.path}`).sort(),
      );
      const called = [...CALLS.map(([path]) => path), "/v1/embeddings"];
      t.strictSame(calls.map(({ path }) => path).sort(), called.sort());
    });

    t.test("that is public returns only what is the same for every caller", async (t) => {
      const open = routes.filter((route) => route.access === "public").map(({ path }) => path);
      // Pages and prices are public.
      const pages = ["/", "/account/v1/catalogue", "/console/*", "/dashboard/*", "/errors.md"];
      t.strictSame(open.sort(), [
        ...[...pages, "/favicon.ico", "/healthz", "/metrics", "/openapi.json", "/readyz"],
      ]);
    });

    t.test("refuses requests without a key, a token or a valid body", async (t) => {
      for (const route of routes) {
        if (route.access === "public" || route.path === SHOWN_TO_ALL) continue;
        const path = route.path.replaceAll(/:\w+|\*/g, "x");
        const response = await fetch(inProcess.address + path, {
          method: route.method,
          ...(route.method === "POST" && { body: "{}" }),
        });
        await response.arrayBuffer();
        // Customers sign in through public routes; those refuse an empty body.
        const refused = [400, 401, 403, 404].includes(response.status);
        t.ok(refused, `${route.method} ${route.path} replied ${response.status}`);
        if (path.startsWith("/v1")) t.equal(response.status, 401, path);
      }
    });
  });

  t.test("all six are served with every plugin on", async (t) => {
    const customer = await customerWith(gateway);
    for (const [path, body] of CALLS) {
      t.equal((await post(gateway, path, customer, body)).status, 200, path);
    }
  });

  for (const plugin of ["auth", "meter", "settle"]) {
    t.test(
      `a reload without ${plugin}, which charging needs, is refused, and calls go on`,
      async (t) => {
        const customer = await customerWith(gateway);
        const refusals = () => gateway.logs.split("the new config is invalid").length;
        const before = refusals();
        gateway.configure({ plugins: { [plugin]: false } });
        gateway.signal("SIGHUP");
        await until("the refusal is logged", () => refusals() > before);
        t.ok(gateway.logs.includes(`expected ${plugin} too`));
        t.equal((await post(gateway, paths.chat, undefined, bodies.chat())).status, 401);
        const { status, headers } = await post(gateway, paths.chat, customer, bodies.chat());
        t.strictSame([status, headers.has("x-svc-cost-vnd")], [200, true]);
      },
    );
  }
});
