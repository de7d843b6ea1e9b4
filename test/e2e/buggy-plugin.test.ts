import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { createCustomer, wallet } from "../support/admin.ts";
import { bodyOf } from "../support/ask.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { assertReconciled, callsInFlight, noCallsInFlight, spent } from "../support/proof.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages";
const CREDIT_VND = 1_000;

/** A plugin, last in the list, that fails, or waits for the client to leave, if a header of the call says so. */
const PLUGIN = `
const waits = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** Waits for as long as the client stays. */
const goes = async (call) => { while (!call.gone) await waits(5); };
const bug = () => { throw new Error("a bug in a plugin"); };
function act(call, stage) {
  switch (call.headers["x-bug"]) {
    case stage + "-throws": return bug();
    case stage + "-rejects": return waits(5).then(bug);
    case stage + "-waits": return goes(call);
    case "late-" + stage: return undefined;
  }
}
export default () => ({
  name: "buggy",
  admit: (call) => act(call, "admit"),
  request(call) {
    if (call.headers["x-bug"]?.startsWith("late-")) return waits(5).then(() => undefined);
    return act(call, "request");
  },
  stream(call, client) {
    const kind = call.headers["x-bug"];
    if (kind === "stream-throws" || kind === "late-stream") bug();
    const misuse = {
      event: () => client.event({ raw: Buffer.from("data: forged\\n\\n"), kind: "data" }),
      data: () => client.data(Buffer.from("forged")),
      head: () => client.head(200, []),
      end: () => client.end({ kind: "complete" }),
    };
    const [use, when] = kind?.split(" ") ?? [];
    const at = (now) => { if (when === now) misuse[use](); };
    let events = 0;
    return {
      head(status, headers) {
        if (kind === "head-throws") bug();
        at("before-head");
        client.head(status, headers);
        at("after-head");
      },
      event(event) {
        events += 1;
        if (kind === "event-throws" || (kind === "late-event-throws" && events > 9)) bug();
        client.event(event);
        at("after-event");
      },
      data(bytes) { if (kind === "data-throws") bug(); client.data(bytes); at("after-data"); },
      end(outcome) {
        if (kind === "end-throws" && outcome.kind === "complete") bug();
        if (kind === "gone-throws" && outcome.kind === "gone") bug();
        client.end(outcome);
        at("after-end");
        if (kind === "throws-after-end") bug();
        if (when === "later") setTimeout(() => misuse[use](), 5);
      },
    };
  },
});
`;

let gateway: TestGateway;
let folder: string;

t.before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const plugin = join(folder, "buggy.js");
  writeFileSync(plugin, PLUGIN);
  gateway = await startGateway({ plugins: { [plugin]: true } });
});
t.teardown(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The log is buffered for a quarter of a second. */
const logs = (line: RegExp) => until(`the log says ${line}`, () => line.test(gateway.logs));

t.test("a plugin with a bug", async (t) => {
  for (const bug of [
    "admit-throws",
    "admit-rejects",
    "request-throws",
    "request-rejects",
    "stream-throws",
    "late-stream",
    "head-throws",
    "event-throws",
    "data-throws",
    "end-throws",
    "throws-after-end",
    ...["data before-head", "event before-head", "end before-head", "head after-head"],
    ...["event after-data", "data after-event", "head after-data", "head after-event"],
    ...["end after-end", "event after-end", "data after-end", "head after-end"],
  ]) {
    for (const stream of [false, true]) {
      if (bug.includes(stream ? "data-throws" : "event-throws")) continue;
      if (bug.includes(stream ? "after-data" : "after-event")) continue;
      t.test(
        `ends its own call with an error, at no cost: ${bug}, streamed: ${stream}`,
        async (t) => {
          const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
          const client = await RawClient.open(gateway.port);
          await client.send(rawPost(PATH, key, bodyOf(PATH, {}, { stream }), { "x-bug": bug }));
          const { status, body } = await client.response();
          client.destroy();
          if (stream && status === 200) t.match(body.toString(), /event: error/);
          else t.equal(status, 500);
          t.notMatch(body.toString(), /message_stop|a bug in a plugin|forged/);
          await noCallsInFlight(gateway);
          t.equal((await wallet(gateway, accountId)).held, "0");
          t.equal(await spent(gateway, accountId, CREDIT_VND), 0n);
          const [use, when] = bug.split(" ");
          if (when !== undefined) {
            await logs(new RegExp(`plugin \\\\"buggy\\\\" called ${use} .*"plugin":"buggy"`));
          }
        },
      );
    }
  }

  for (const leaves of [false, true]) {
    t.test(
      `is charged for what was delivered before it failed, client leaves: ${leaves}`,
      async (t) => {
        const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
        const client = await RawClient.open(gateway.port);
        const slow = { text: "word ".repeat(100), deltas: 20, event_delay_ms: 20 };
        const bug = leaves ? "gone-throws" : "late-event-throws";
        await client.send(
          rawPost(PATH, key, bodyOf(PATH, slow, { stream: true }), { "x-bug": bug }),
        );
        if (leaves) {
          await client.sees("text_delta");
          client.reset();
        } else {
          const { body } = await client.response();
          client.destroy();
          t.match(body.toString(), /text_delta.*event: error.*You pay for the part/s);
          t.notMatch(body.toString(), /message_stop|a bug in a plugin/);
        }
        await noCallsInFlight(gateway);
        t.equal((await wallet(gateway, accountId)).held, "0");
        t.ok((await spent(gateway, accountId, CREDIT_VND)) > 0n);
      },
    );
  }

  for (const stream of [false, true]) {
    t.test(
      `that writes after its call has ended has no effect, and is named: streamed: ${stream}`,
      async (t) => {
        const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
        const client = await RawClient.open(gateway.port);
        const headers = { "x-bug": `${stream ? "event" : "data"} later` };
        await client.send(rawPost(PATH, key, bodyOf(PATH, {}, { stream }), headers));
        const { status, body } = await client.response();
        client.destroy();
        t.equal(status, 200);
        t.match(body.toString(), stream ? /message_stop/ : /"usage"/);
        t.notMatch(body.toString(), /forged/);
        await noCallsInFlight(gateway);
        t.ok((await spent(gateway, accountId, CREDIT_VND)) > 0n);
        await logs(new RegExp(`called ${stream ? "event" : "data"} .* after end.*"state":"ended"`));
      },
    );
  }

  for (const stage of ["admit", "request"]) {
    t.test(`that waits while its client leaves holds nothing afterwards: ${stage}`, async (t) => {
      const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
      const asked = (await gateway.simulator.stats())[PATH]?.["calls"] ?? 0;
      const client = await RawClient.open(gateway.port);
      await client.send(rawPost(PATH, key, bodyOf(PATH), { "x-bug": `${stage}-waits` }));
      await until("the call is open", async () => (await callsInFlight(gateway)) === 1);
      client.reset();
      await noCallsInFlight(gateway);
      t.equal((await wallet(gateway, accountId)).held, "0");
      t.equal(await spent(gateway, accountId, CREDIT_VND), 0n);
      t.equal((await gateway.simulator.stats())[PATH]?.["calls"] ?? 0, asked);
    });
  }

  t.test("leaves the gateway running, and both stores in agreement", async (t) => {
    const { key } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
    const client = await RawClient.open(gateway.port);
    await client.send(rawPost(PATH, key, bodyOf(PATH)));
    t.equal((await client.response()).status, 200);
    client.destroy();
    await assertReconciled(gateway);
    t.notMatch(gateway.logs, /unhandled rejection/);
  });
});
