import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Router } from "../../../core/contract/routes/router.ts";
import { admin } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { adminRoutes } from "./routes.ts";

describe("admin API: who may enter", () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ config: { admin: undefined } });
  });
  after(() => gateway.close());

  const send = (method: string, path: string, headers: Record<string, string>) =>
    fetch(gateway.url + path, { method, headers, ...(method === "POST" && { body: "{}" }) });

  it("makes a token that only the owner of the data folder can read", () => {
    const file = join(gateway.data, "admin-token");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(readFileSync(file, "utf8"), /^[\w-]{43}\n$/);
    assert.deepEqual(
      readdirSync(gateway.data).filter((name) => name.startsWith("admin-")),
      ["admin-token"],
    );
  });

  it("refuses every route without the token, with a wrong one and with other schemes", async () => {
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
    assert.ok(routes.length >= 8);
    for (const { method, path } of routes) {
      for (const headers of wrong) {
        const response = await send(method, path.replaceAll(/:\w+/g, "x"), headers);
        const { error } = (await response.json()) as { error: Record<string, unknown> };
        assert.equal(response.status, 401, `${method} ${path} ${JSON.stringify(headers)}`);
        assert.equal(response.headers.get("www-authenticate"), "Bearer");
        assert.equal(error["type"], "authentication_error");
        assert.equal(error["param"], null);
      }
    }
  });

  it("takes the token, in any case of the word Bearer", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const headers = { authorization: `${scheme} ${gateway.adminToken}` };
      assert.equal((await send("GET", "/admin/v1/accounts", headers)).status, 200);
    }
  });

  it("keeps the token over a restart", async () => {
    const before = gateway.adminToken;
    await gateway.kill9();
    await gateway.start();
    assert.equal(gateway.adminToken, before);
    assert.equal((await admin(gateway, "GET", "/accounts")).status, 200);
  });

  it("refuses to start with a token file that is no token", async () => {
    const file = join(gateway.data, "admin-token");
    const before = readFileSync(file, "utf8");
    await gateway.stop();
    writeFileSync(file, "short\n");
    await assert.rejects(gateway.start(), /has no usable secret; delete it/);
    writeFileSync(file, before);
    await gateway.start();
  });

  it("takes the token of the config instead, from the next reload on", async () => {
    const old = gateway.adminToken;
    gateway.configure({ config: { admin: { token: "a-token-of-the-config" } } });
    gateway.signal("SIGHUP");
    const headers = { authorization: "Bearer a-token-of-the-config" };
    await until("it is reloaded", async () => {
      return (await send("GET", "/admin/v1/accounts", headers)).status === 200;
    });
    const before = { authorization: `Bearer ${old}` };
    assert.equal((await send("GET", "/admin/v1/accounts", before)).status, 401);
  });
});
