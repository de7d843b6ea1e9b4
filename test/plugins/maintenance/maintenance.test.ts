import assert from "node:assert/strict";
import t from "tap";
import { admin, createCustomer } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { bodies, get, openStream, paths, post } from "../../support/requests.ts";
import { runCli } from "../admin/cli-runs.ts";

t.test("maintenance", async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());

  const command = (...args: string[]) =>
    runCli(["maintenance", ...args, "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });

  async function answer(...args: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await command(...args);
    assert.deepEqual([code, stderr], [0, ""]);
    return JSON.parse(stdout);
  }

  t.test("is off at first, and reported as off", async (t) => {
    const { enabled, message, since } = await answer();
    t.strictSame([enabled, message], [false, null]);
    t.ok(!Number.isNaN(Date.parse(String(since))));
  });

  t.test(
    "replies 503 to new calls in their protocol's shape, and lets running ones finish",
    async (t) => {
      const caller = await createCustomer(gateway, { creditVnd: 1000 });
      const running = await openStream(gateway, paths.messages, caller, {
        ...bodies.messages({ output_tokens: 20, event_delay_ms: 50 }),
        stream: true,
      });
      await running.until((text) => text.includes("content_block_delta"));
      const message = "Bảo trì đến 15:00";
      t.equal(
        (await answer("on", "--message", message, "--reason", "upgrade"))["message"],
        message,
      );

      const refused = await post(gateway, paths.messages, caller, bodies.messages());
      t.equal(refused.status, 503);
      t.equal(refused.headers.get("retry-after"), "30");
      t.strictSame(refused.json, {
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
        t.equal(status, 503, path);
        t.equal(headers.get("retry-after"), "30");
        t.strictSame(json.error, {
          message,
          type: "service_unavailable",
          param: null,
          code: "maintenance",
        });
      }
      t.equal((await get(gateway, "/v1/models", caller)).status, 503);
      const count = "/v1/messages/count_tokens";
      t.equal((await post(gateway, count, caller, bodies.messages())).status, 503);
      // Valid and invalid keys get the same reply, so it reveals nothing about a key.
      t.equal((await post(gateway, paths.chat, { key: "tg-x" }, bodies.chat())).status, 503);

      t.match(await running.rest(), /event: message_stop/);
      for (const path of ["/healthz", "/readyz", "/metrics"]) {
        t.equal((await get(gateway, path, undefined)).status, 200, path);
      }
      t.equal((await admin(gateway, "GET", "/accounts")).status, 200);
    },
  );

  t.test("stays on after a crash, until it is switched off", async (t) => {
    const caller = await createCustomer(gateway, { creditVnd: 1000 });
    t.equal((await answer("on"))["message"], null);
    await gateway.kill9();
    await gateway.start();
    const { status, json } = await post(gateway, paths.messages, caller, bodies.messages());
    t.equal(status, 503);
    t.equal(json.error.message, "The service is under maintenance; try again later.");
    t.equal((await answer("off"))["enabled"], false);
    t.equal((await post(gateway, paths.messages, caller, bodies.messages())).status, 200);
  });

  t.test("explains a wrong command", async (t) => {
    const { code, stderr } = await command("on", "--message", "two\nlines");
    t.equal(code, 1);
    t.match(stderr, /message: expected a message of 1 to 500 characters on one line/);
    t.equal((await command("maybe")).code, 2);
  });
});
