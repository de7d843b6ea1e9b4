import t from "tap";
import { createCustomer } from "../support/admin.ts";
import { bodyOf, type CallPath } from "../support/ask.ts";
import { type Download, download } from "../support/download.ts";
import { startGateway } from "../support/gateway.ts";
import { assertReconciled, noCallsInFlight } from "../support/proof.ts";
import type { Directive } from "../support/provider/directive.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";

/** More than a minute, since socket timers may count in steps of four seconds. */
const SILENCE_MS = 66_000;

t.test("a stream that is silent", { jobs: 16 }, async (t) => {
  const gateway = await startGateway();
  const customer = await createCustomer(gateway, { creditVnd: 1_000 });
  t.teardown(async () => {
    await noCallsInFlight(gateway);
    await assertReconciled(gateway);
    await gateway.close();
  });

  function stream(path: CallPath, directive: Directive): Promise<Download> {
    const body = bodyOf(path, directive, { stream: true });
    return download(gateway.url + path, body, { "x-api-key": customer.key }, { keep: true });
  }

  for (const [path, terminal] of [
    ["/v1/messages", /event: message_stop/],
    ["/v1/chat/completions", /data: \[DONE\]/],
  ] as const) {
    t.test(`for more than a minute stays open: ${path}`, async (t) => {
      const directive = { output_tokens: 12, silent_ms: SILENCE_MS, silent_after_events: 5 };
      const got = await stream(path, directive);
      t.equal(got.error, undefined);
      t.match(got.body.toString(), terminal);
    });
  }

  t.test("for more than a minute before its first byte stays open too", async (t) => {
    const got = await stream("/v1/messages", { output_tokens: 3, delay_ms: SILENCE_MS });
    t.equal(got.error, undefined);
    t.match(got.body.toString(), /event: message_stop/);
  });

  const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: gateway\r\n\r\n`;
  for (const [what, request] of [
    ["served", () => get("/healthz")],
    ["refused for its key", () => rawPost("/v1/messages", "tg-wrong", bodyOf("/v1/messages"))],
    ["refused for its address", () => rawPost("/v1/nothing", customer.key, "{}")],
    ["refused without a body", () => get("/nothing")],
  ] as const) {
    t.test(
      `is no connection that is idle: it is cut after a request that is ${what}`,
      async (t) => {
        const client = await RawClient.open(gateway.port);
        await client.send(request());
        t.ok((await client.response()).status >= 200);
        await client.closed;
      },
    );
  }
});
