import t from "tap";
import { freePort } from "../support/free-port.ts";
import { startGateway } from "../support/gateway.ts";
import { RawClient } from "../support/raw-client.ts";
import { paths } from "../support/requests.ts";
import { until } from "../support/until.ts";

t.test("admin.listen", async (t) => {
  const port = await freePort();
  const operators = `http://127.0.0.1:${port}`;
  const gateway = await startGateway({ config: { admin: { listen: { port } } } });
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

  /** Sends a request word for word: clients such as fetch shorten its path. */
  const raw = async (url: string, line: string, header = "x: y") => {
    const client = await RawClient.open(Number(new URL(url).port));
    await client.send(`${line} HTTP/1.1\r\nhost: h\r\n${header}\r\nconnection: close\r\n\r\n`);
    await client.sees("\r\n\r\n");
    const status = Number(client.pending.toString().split(" ")[1]);
    const text = line.startsWith("HEAD") ? "" : (await client.response()).body.toString();
    client.destroy();
    return { status, text };
  };

  t.test(
    "refuses paths that a proxy reads as other ones, at both, without asking for a key",
    async (t) => {
      for (const url of [gateway.url, operators]) {
        for (const path of [
          "/admin/v1/accounts/x%2f..%2f..%2f..%2f..%2ffoo/wallet",
          "/admin/v1/accounts/../accounts",
          "/v1/../admin/v1/accounts",
          "/v1/calls/%2e%2e",
          "/v1/calls/a%5cb",
          "/v1/models/x%2f..%2fy",
          "/v1/chat%2fcompletions",
        ]) {
          for (const method of ["GET", "POST", "OPTIONS"]) {
            const { status, text } = await raw(url, `${method} ${path}`);
            t.equal(status, 400, `${method} ${path}`);
            t.equal(JSON.parse(text).error.type, "invalid_request_error");
          }
          t.equal((await raw(url, `HEAD ${path}`)).status, 400, `HEAD ${path}`);
        }
      }
      const version = "anthropic-version: 2023-06-01";
      const { text } = await raw(gateway.url, "GET /v1/models/%2e", version);
      t.match(JSON.parse(text), { type: "error", error: { type: "invalid_request_error" } });
    },
  );

  t.test("has no other way around a check of access", async (t) => {
    const account = "/admin/v1/accounts";
    for (const [url, line, status] of [
      [operators, `HEAD ${account}`, 401],
      [operators, `OPTIONS ${account}`, 405],
      [operators, `TRACE ${account}`, 405],
      [operators, `GET /${account}`, 404],
      [operators, `GET ${account}/`, 404],
      [operators, `GET ${account};x`, 404],
      [operators, `GET ${account.toUpperCase()}`, 404],
      [operators, `GET /%61dmin/v1/accounts`, 404],
      [gateway.url, "HEAD /v1/models", 401],
      [gateway.url, "GET /v1//models", 404],
      [gateway.url, "GET //v1/models", 404],
      [gateway.url, "HEAD /v1/models/x", 401],
      [gateway.url, "OPTIONS /v1/models", 405],
      [gateway.url, `HEAD ${paths.chat}`, 405],
      [gateway.url, `OPTIONS ${paths.chat}`, 405],
      [gateway.url, `HEAD ${account}`, 404],
      [gateway.url, "HEAD /metrics", 404],
    ] as const) {
      t.equal((await raw(url, line)).status, status, `${line} at ${new URL(url).port}`);
    }
    // The native listener takes no whole address, and that of Node takes its path.
    for (const [url, path] of [
      [gateway.url, "/v1/models"],
      [operators, account],
    ] as const) {
      const { status } = await raw(url, `GET http://h${path}`);
      t.ok([401, 505].includes(status), `${path}: ${status}`);
      t.ok([404, 505].includes((await raw(gateway.url, `GET http://h${account}`)).status));
    }
  });

  t.test("changes only at a restart, which a reload says", async (t) => {
    gateway.configure({ config: { admin: { listen: { port: await freePort() } } } });
    gateway.signal("SIGHUP");
    await until("the reload is done", () => /need a restart: admin\.listen/.test(gateway.logs));
    t.equal((await ask(`${operators}/admin/v1/accounts`)).status, 200);
    t.equal((await ask(`${gateway.url}/metrics`)).status, 404);
  });
});
