import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import type { CallerKey } from "../../../core/accounts/account.ts";
import type { Plugin } from "../../../core/plugin/plugin.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const CALLS_MAX = 4;
const LEFT_CALLS_MAX = 1;
const LIMITS = { callsMax: CALLS_MAX, leftCallsMax: LEFT_CALLS_MAX };
const BODY = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x" }] });
const REPLY = JSON.stringify({ choices: [{ message: { role: "assistant", content: "x" } }] });

/** A server with few places. Its upstream holds calls until `release`, and `waiting` admits those of the account `waits`. */
async function start(t: Test) {
  const held: ServerResponse[] = [];
  const waiting: (() => void)[] = [];
  const byHeader: Plugin = {
    name: "by-header",
    admit(call) {
      const accountId = call.headers["x-account"] ?? "";
      call.key = { id: accountId, accountId } as CallerKey;
      call.lingerMs = Number.POSITIVE_INFINITY;
      if (accountId !== "waits") return undefined;
      return new Promise((resolve) => waiting.push(() => resolve(undefined)));
    },
  };
  const bare = await startServer([byHeader], (request, response) => {
    request.resume();
    held.push(response);
  });
  t.teardown(() => bare.close());
  const { server } = bare;
  const { runtime } = server;
  server.runtime = { ...runtime, limits: { ...runtime.limits, ...LIMITS } };
  const url = `http://127.0.0.1:${bare.port}/v1/chat/completions`;
  return {
    server,
    held,
    waiting,
    async send(account: string, signal: AbortSignal | null = null): Promise<number> {
      const headers = { "content-type": "application/json", "x-account": account };
      const response = await fetch(url, { method: "POST", headers, body: BODY, signal });
      await response.text();
      return response.status;
    },
    /** Ends the calls that are at the upstream. */
    release() {
      for (const response of held.splice(0)) {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(REPLY);
      }
    },
  };
}

t.test("calls that wait for their admission take no place", async (t) => {
  const { server, waiting, held, send, release } = await start(t);
  const late = Array.from({ length: CALLS_MAX - 1 }, () => send("waits"));
  await until("they wait", () => waiting.length === CALLS_MAX - 1);
  const others = ["a", "a", "b", "b"].map((account) => send(account));
  await until("all places are taken", () => held.length === CALLS_MAX);
  for (const admit of waiting) admit();
  t.strictSame(await Promise.all(late), [503, 503, 503], "admitted too late");
  release();
  t.strictSame(await Promise.all(others), [200, 200, 200, 200]);
  await until("nothing is in flight", () => server.callsInFlight.size === 0);
});

t.test("an account takes at most half of the places", async (t) => {
  const { held, send, release } = await start(t);
  const first = [send("a"), send("a")];
  await until("they are at the upstream", () => held.length === 2);
  t.equal(await send("a"), 429);
  const other = send("b");
  await until("another account is served", () => held.length === 3);
  release();
  t.strictSame(await Promise.all([...first, other]), [200, 200, 200]);
  const again = send("a");
  await until("its places are free again", () => held.length === 1);
  release();
  t.equal(await again, 200);
});

t.test("an account whose calls were left waits until they end", async (t) => {
  const { server, held, send, release } = await start(t);
  const client = new AbortController();
  const left = send("a", client.signal);
  await until("the call is at the upstream", () => held.length === 1);
  client.abort();
  await t.rejects(left, { name: "AbortError" });
  await until("the gateway knows", () => server.callsInFlight.left === LEFT_CALLS_MAX);
  t.equal(await send("a"), 429);
  const other = send("b");
  await until("another account is served", () => held.length === 2);
  release();
  t.equal(await other, 200);
  await until("the call that was left has ended", () => server.callsInFlight.left === 0);
  const again = send("a");
  await until("the account is served again", () => held.length === 1);
  release();
  t.equal(await again, 200);
});

t.test("a call that is left before its upstream has it is not read on", async (t) => {
  const { server, waiting, held, send } = await start(t);
  const client = new AbortController();
  const left = send("waits", client.signal);
  await until("it waits", () => waiting.length === 1);
  client.abort();
  await t.rejects(left, { name: "AbortError" });
  for (const admit of waiting) admit();
  await until("it has ended", () => server.callsInFlight.size === 0);
  t.strictSame([held.length, server.callsInFlight.left], [0, 0]);
});
