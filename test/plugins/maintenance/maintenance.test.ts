import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { admin, createCustomer } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { bodies, get, openStream, paths, post } from "../../support/requests.ts";
import { runCli } from "../admin/cli-process.ts";

describe("maintenance", () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.close());

  const command = (...args: string[]) =>
    runCli(["maintenance", ...args, "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });

  async function answer(...args: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await command(...args);
    assert.deepEqual([code, stderr], [0, ""]);
    return JSON.parse(stdout);
  }

  it("is off at first, and shown so", async () => {
    const { enabled, message, since } = await answer();
    assert.deepEqual([enabled, message], [false, null]);
    assert.ok(!Number.isNaN(Date.parse(String(since))));
  });

  it("answers calls with 503 in their protocol's shape, and lets running ones finish", async () => {
    const caller = await createCustomer(gateway, { creditVnd: 1000 });
    const running = await openStream(gateway, paths.messages, caller, {
      ...bodies.messages({ output_tokens: 20, event_delay_ms: 50 }),
      stream: true,
    });
    await running.until((text) => text.includes("content_block_delta"));
    const message = "Bảo trì đến 15:00";
    assert.equal(
      (await answer("on", "--message", message, "--reason", "upgrade"))["message"],
      message,
    );

    const refused = await post(gateway, paths.messages, caller, bodies.messages());
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("retry-after"), "30");
    assert.deepEqual(refused.json, {
      type: "error",
      error: { type: "service_unavailable", message },
      request_id: refused.headers.get("x-request-id"),
    });
    for (const [path, body] of [
      [paths.chat, bodies.chat()],
      [paths.responses, bodies.responses()],
      [paths.images, bodies.images()],
      [paths.speech, bodies.speech()],
    ] as const) {
      const { status, json, headers } = await post(gateway, path, caller, body);
      assert.equal(status, 503, path);
      assert.equal(headers.get("retry-after"), "30");
      assert.deepEqual(json.error, {
        message,
        type: "service_unavailable",
        param: null,
        code: "maintenance",
      });
    }
    assert.equal((await get(gateway, "/v1/models", caller)).status, 503);
    const count = "/v1/messages/count_tokens";
    assert.equal((await post(gateway, count, caller, bodies.messages())).status, 503);
    // Not a word of whether a key is good: whoever calls hears the same.
    assert.equal((await post(gateway, paths.chat, { key: "tg-x" }, bodies.chat())).status, 503);

    assert.match(await running.rest(), /event: message_stop/);
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      assert.equal((await get(gateway, path, undefined)).status, 200, path);
    }
    assert.equal((await admin(gateway, "GET", "/accounts")).status, 200);
  });

  it("outlasts a crash, and ends when it is told to", async () => {
    const caller = await createCustomer(gateway, { creditVnd: 1000 });
    assert.equal((await answer("on"))["message"], null);
    await gateway.kill9();
    await gateway.start();
    const { status, json } = await post(gateway, paths.messages, caller, bodies.messages());
    assert.equal(status, 503);
    assert.equal(json.error.message, "The service is under maintenance; try again later.");
    assert.equal((await answer("off"))["enabled"], false);
    assert.equal((await post(gateway, paths.messages, caller, bodies.messages())).status, 200);
  });

  it("says what is wrong with a command", async () => {
    const { code, stderr } = await command("on", "--message", "two\nlines");
    assert.equal(code, 1);
    assert.match(stderr, /message: expected a message of 1 to 500 characters on one line/);
    assert.equal((await command("maybe")).code, 2);
  });
});
