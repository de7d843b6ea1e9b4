import t from "tap";
import { freePort } from "../support/free-port.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { paths } from "../support/requests.ts";
import { until } from "../support/until.ts";

t.test("admin.listen", async (t) => {
  let gateway: TestGateway;
  let operators: string;
  t.before(async () => {
    const port = await freePort();
    operators = `http://127.0.0.1:${port}`;
    gateway = await startGateway({ config: { admin: { listen: { port } } } });
  });
  t.teardown(() => gateway.close());

  const ask = async (url: string, method = "GET") => {
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    const response = await fetch(url, {
      method,
      headers,
      ...(method === "POST" && { body: "{}" }),
    });
    return { status: response.status, text: await response.text() };
  };

  t.test("serves the admin API, metrics and details at an address of their own", async (t) => {
    t.equal((await ask(`${operators}/admin/v1/accounts`)).status, 200);
    t.match((await ask(`${operators}/metrics`)).text, /^# HELP /m);
    t.equal((await ask(`${operators}/healthz`)).status, 200);
    const { text } = await ask(`${operators}/readyz`);
    t.match(JSON.parse(text), { status: "ready", hot: "ok", ledger: "ok" });
  });

  t.test("serves no operator at the address of customers", async (t) => {
    const routes = [
      ["GET", "/admin/v1/accounts"],
      ["POST", "/admin/v1/accounts"],
      ["GET", "/metrics"],
    ] as const;
    for (const [method, path] of routes) {
      t.equal((await ask(gateway.url + path, method)).status, 404, path);
    }
    const { status, text } = await ask(`${gateway.url}/readyz`);
    t.equal(status, 200);
    t.strictSame(JSON.parse(text), { status: "ready" });
    t.equal((await ask(`${gateway.url}/healthz`)).status, 200);
  });

  t.test("serves no customer at the address of operators", async (t) => {
    t.equal((await ask(`${operators}${paths.chat}`, "POST")).status, 404);
    t.equal((await ask(`${operators}/v1/models`)).status, 404);
    t.equal((await ask(`${operators}/dashboard`)).status, 404);
  });

  t.test("changes only at a restart, which a reload says", async (t) => {
    gateway.configure({ config: { admin: { listen: { port: await freePort() } } } });
    gateway.signal("SIGHUP");
    await until("the reload is done", () => /need a restart: admin\.listen/.test(gateway.logs));
    t.equal((await ask(`${operators}/admin/v1/accounts`)).status, 200);
    t.equal((await ask(`${gateway.url}/metrics`)).status, 404);
  });
});
