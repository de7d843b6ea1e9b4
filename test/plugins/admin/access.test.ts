import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Router } from "../../../core/plugin/router.ts";
import { admin } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { adminRoutes } from "./routes.ts";

t.test("admin API: access", async (t) => {
  const gateway = await startGateway({ config: { admin: undefined } });
  t.teardown(() => gateway.close());

  const send = (method: string, path: string, headers: Record<string, string>) =>
    fetch(gateway.url + path, { method, headers, ...(method === "POST" && { body: "{}" }) });

  t.test("creates a token that only the owner of the data folder can read", async (t) => {
    const file = join(gateway.data, "admin-token");
    t.equal(statSync(file).mode & 0o777, 0o600);
    t.match(readFileSync(file, "utf8"), /^[\w-]{43}\n$/);
    t.strictSame(
      readdirSync(gateway.data).filter((name) => name.startsWith("admin-")),
      ["admin-token"],
    );
  });

  t.test(
    "refuses every route without the token, with a wrong token and with other schemes",
    async (t) => {
      const token = gateway.adminToken;
      const wrong: Record<string, string>[] = [
        {},
        { authorization: "" },
        { authorization: "Bearer" },
        { authorization: "Bearer " },
        { authorization: "Bearer wrong-wrong-wrong-wrong" },
        { authorization: `Bearer ${token.slice(0, -1)}` },
        { authorization: `Bearer ${token}x` },
        { authorization: `Bearer ${token} ${token}` },
        { authorization: `Basic ${token}` },
        { authorization: token },
        { "x-api-key": token },
      ];
      const routes = adminRoutes(new Router());
      t.ok(routes.length >= 8);
      let sent = 0;
      for (const { method, path } of routes) {
        for (const headers of wrong) {
          // Each from another address, since wrong tokens are counted by address.
          sent += 1;
          const from = { "x-forwarded-for": `10.0.${sent >> 8}.${sent & 255}` };
          const response = await send(method, path.replaceAll(/:\w+/g, "x"), {
            ...headers,
            ...from,
          });
          const { error } = (await response.json()) as { error: Record<string, unknown> };
          t.equal(response.status, 401, `${method} ${path} ${JSON.stringify(headers)}`);
          t.equal(response.headers.get("www-authenticate"), "Bearer");
          t.equal(error["type"], "authentication_error");
          t.equal(error["param"], null);
        }
      }
    },
  );

  t.test(
    "makes an address wait after thirty wrong tokens, logs it, and lets others in",
    async (t) => {
      const guess = async (from: string) =>
        send("GET", "/admin/v1/accounts", {
          authorization: "Bearer wrong-wrong-wrong-wrong",
          "x-forwarded-for": from,
        });
      let guesses = 0;
      let refused = await guess("192.0.2.1");
      for (; refused.status === 401; refused = await guess("192.0.2.1")) guesses += 1;
      // One more is allowed every second, however long this takes.
      t.ok(guesses >= 30 && guesses < 60, `${guesses}`);
      t.equal(refused.status, 429);
      t.ok(Number(refused.headers.get("retry-after")) >= 1);
      t.equal((await guess("192.0.2.2")).status, 401);
      t.equal((await admin(gateway, "GET", "/accounts")).status, 200);
      const line = /"address":"192\.0\.2\.1".*an address sends wrong admin tokens; it has to wait/;
      await until("it is logged", () => line.test(gateway.logs));
      t.notMatch(gateway.logs, /wrong-wrong-wrong/);
    },
  );

  t.test("accepts the token with the word Bearer in any case", async (t) => {
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const headers = { authorization: `${scheme} ${gateway.adminToken}` };
      t.equal((await send("GET", "/admin/v1/accounts", headers)).status, 200);
    }
  });

  t.test("keeps the token across a restart", async (t) => {
    const before = gateway.adminToken;
    await gateway.kill9();
    await gateway.start();
    t.equal(gateway.adminToken, before);
    t.equal((await admin(gateway, "GET", "/accounts")).status, 200);
  });

  t.test("refuses to start if the token file holds no valid token", async (t) => {
    const file = join(gateway.data, "admin-token");
    const before = readFileSync(file, "utf8");
    await gateway.stop();
    writeFileSync(file, "short\n");
    await t.rejects(gateway.start(), /has no usable secret; delete it/);
    writeFileSync(file, before);
    await gateway.start();
  });

  t.test("uses the token of the config instead after the next reload", async (t) => {
    const old = gateway.adminToken;
    gateway.configure({ config: { admin: { token: "a-token-of-the-config" } } });
    gateway.signal("SIGHUP");
    const headers = { authorization: "Bearer a-token-of-the-config" };
    await until("the reload is done", async () => {
      return (await send("GET", "/admin/v1/accounts", headers)).status === 200;
    });
    const before = { authorization: `Bearer ${old}` };
    t.equal((await send("GET", "/admin/v1/accounts", before)).status, 401);
  });
});
