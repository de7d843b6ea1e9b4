import t from "tap";
import { billedCall, customerWith } from "../../support/billed.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import type { Directive } from "../../support/provider/directive.ts";
import { bodies, openStream, paths } from "../../support/requests.ts";
import { until } from "../../support/until.ts";

type Client = "messages" | "chat" | "responses";

/** 12,000 hidden tokens of reasoning, and text that a client has read before the usage comes. */
const HIDDEN: Directive = {
  text: "The answer is 42. END",
  input_tokens: 40,
  output_tokens: 12_060,
  reasoning_tokens: 12_000,
  ignore_max_tokens: true,
};

/** Models that reason if nothing is asked. */
const REASONING: Readonly<Record<Client, object>> = {
  messages: { model: "claude-opus-5-5", max_tokens: 32_000 },
  chat: { model: "gpt-5.6-sol" },
  responses: { model: "gpt-5.6-sol" },
};

/** A model that reasons only if it is asked to, at 40,000 đ per million tokens. */
const QUIET = { model: "claude-opus-4-8" };

t.test("a client that leaves", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway({
      plugins: { settle: { linger_seconds: 1, linger_reasoning_seconds: 90 } },
    });
  });
  t.teardown(() => gateway.close());

  const leftAt = async (client: Client, marker: string, directive: Directive, more: object) => {
    const customer = await customerWith(gateway);
    const body = bodies[client](directive, { stream: true, ...more });
    const open = await openStream(gateway, paths[client], customer, body);
    await open.until((text) => text.includes(marker));
    open.leave();
    return billedCall(gateway, customer);
  };

  for (const client of ["messages", "chat", "responses"] as const) {
    t.test(`pays for reasoning that it was not shown: ${client}`, async (t) => {
      // Longer than a call lingers whose output can all be counted.
      const directive = { ...HIDDEN, deltas: 1, silent_ms: 3_000, silent_after_events: 5 };
      const record = await leftAt(client, "END", directive, REASONING[client]);
      t.strictSame([record["input_tokens"], record["output_tokens"]], [40, 12_060]);
      t.equal(record["estimated"], false);
    });
  }

  t.test("pays what is reported in the time that a call lingers", async (t) => {
    const directive = { ...HIDDEN, reasoning_tokens: 0, deltas: 1 };
    const silent = { ...directive, silent_ms: 50, silent_after_events: 2 };
    const record = await leftAt("chat", "END", silent, {});
    t.strictSame([record["input_tokens"], record["output_tokens"]], [40, 12_060]);
  });

  t.test("pays a reported input, and what was delivered, if no report comes in time", async (t) => {
    const directive = { ...HIDDEN, input_tokens: 90_000, deltas: 1, silent_ms: 600_000 };
    const record = await leftAt("messages", "END", { ...directive, silent_after_events: 3 }, QUIET);
    t.strictSame([record["input_tokens"], record["outcome"]], [90_000, "gone"]);
    t.equal(record["output_tokens"], 5);
    t.equal(record["estimated"], true);
  });

  t.test("pays a reported input even if it leaves before any output", async (t) => {
    const directive = { ...HIDDEN, input_tokens: 90_000, silent_ms: 600_000 };
    const record = await leftAt("messages", "message_start", directive, QUIET);
    // With the first token of the output, which the same event reports.
    t.strictSame([record["input_tokens"], record["output_tokens"]], [90_000, 1]);
    t.equal(record["cost_vnd"], "3600.04");
  });

  t.test("pays nothing if nothing came and nothing was reported", async (t) => {
    const customer = await customerWith(gateway);
    const calls = async () => (await gateway.simulator.stats())[paths.chat]?.["calls"];
    const before = await calls();
    const body = bodies.chat({ hang: true });
    const open = await openStream(gateway, paths.chat, customer, body);
    await until("the upstream is called", async () => (await calls()) === before! + 1);
    open.leave();
    t.equal((await billedCall(gateway, customer))["cost_vnd"], "0");
  });

  t.test("is not read for beyond what its call has held", async (t) => {
    const customer = await customerWith(gateway);
    const more = { stream: true, ...REASONING.chat };
    const endless = { total_bytes: 4_000_000_000, event_delay_ms: 1 };
    const open = await openStream(gateway, paths.chat, customer, bodies.chat(endless, more));
    await open.until((text) => text.includes("toll gate"));
    open.leave();
    const record = await billedCall(gateway, customer);
    t.equal(record["outcome"], "gone");
    t.ok(Number(record["output_tokens"]) < 50_000, String(record["output_tokens"]));
  });
});
