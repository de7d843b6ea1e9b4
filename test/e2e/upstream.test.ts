import t from "tap";
import { createCustomer, usage } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { TEST_PRICE_VND_PER_MTOK } from "../support/catalogue.ts";
import type { TestGateway } from "../support/gateway.ts";
import { assertReconciled, noCallsInFlight, spent } from "../support/proof.ts";
import { startRoutedGateway, type TestRoute, upstreamName } from "../support/routed-gateway.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";

const PATH = "/v1/messages";
const CREDIT_VND = 100_000;
const USED = { input_tokens: 30, output_tokens: 10 };
/** The cost of a call with this usage. */
const COST_MICRO_VND = BigInt(40 * TEST_PRICE_VND_PER_MTOK);

const GOOD: TestRoute = { behaves: {}, priority: 1 };

const MODELS: Record<string, readonly TestRoute[]> = {
  hangs: [{ behaves: { hang: true } }, GOOD],
  "hangs-alone": [{ behaves: { hang: true } }],
  "cut-later": [{ behaves: { cut_after_events: 4 } }, GOOD],
  "all-429": [
    { behaves: { status: 429, retry_after: 7 } },
    { behaves: { status: 429, retry_after: 9 }, priority: 1 },
  ],
  "breaks-late": [{ behaves: { reset: true, delay_ms: 6_000 } }, GOOD],
  thinks: [{ behaves: { delay_ms: 6_000 } }, GOOD],
  falls: [
    ...[0, 1, 2, 3, 4, 5].map((priority) => ({ behaves: { status: 500 }, priority })),
    { behaves: {}, priority: 6 },
  ],
  breaks: [{ behaves: { status: 500 } }, GOOD],
  goes: [{ behaves: {} }],
};

let simulator: TestSimulator;
let gateway: TestGateway;

t.before(async () => {
  simulator = await startTestSimulator();
  gateway = await startRoutedGateway(simulator, MODELS, {
    first_byte_seconds: 12,
    idle_seconds: 2,
    connect_seconds: 2,
  });
});
t.teardown(async () => {
  await noCallsInFlight(gateway);
  await assertReconciled(gateway);
  await gateway.close();
  await simulator.stop();
});

interface Result {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** The customer's total charge, µđ. */
  readonly cost: bigint;
  /** The upstream in the record of the call, or undefined without a record. */
  readonly upstream: unknown;
}

/** Makes one call as a new customer. */
async function callOnce(model: string, more: object = {}, by = gateway): Promise<Result> {
  const { key, accountId } = await createCustomer(by, { creditVnd: CREDIT_VND });
  const response = await ask(by.url, key, PATH, bodyOf(PATH, USED, { model, ...more }));
  const text = await response.text();
  const cost = await spent(by, accountId, CREDIT_VND);
  const [record] = cost > 0n ? await usage(by, accountId) : [];
  const { status, headers } = response;
  return { status, text, headers, cost, upstream: record?.["upstream"] };
}

async function askedUpstream(): Promise<number> {
  return (await simulator.stats())[PATH]?.["calls"] ?? 0;
}

t.test("a call whose upstream thinks for longer than the idle limit", { jobs: 3 }, async (t) => {
  for (const stream of [false, true]) {
    t.test(`is asked of no other and charged once, streamed: ${stream}`, async (t) => {
      const result = await callOnce("thinks", { stream });
      t.equal(result.status, 200, result.text);
      t.equal(result.upstream, upstreamName("thinks", 0));
      t.equal(result.cost, COST_MICRO_VND);
    });
  }

  t.test("gets 504 if it is streamed and no byte comes in time", async (t) => {
    const result = await callOnce("hangs-alone", { stream: true });
    t.equal(result.status, 504, result.text);
    const { type, error } = JSON.parse(result.text);
    t.equal(type, "error");
    t.equal(error.type, "timeout_error");
    t.match(error.message, /provider is too slow: it did not begin to reply within 12 seconds/);
    t.equal(result.cost, 0n);
  });

  t.test("is served by the next if no byte of its stream comes in time", async (t) => {
    const result = await callOnce("hangs", { stream: true });
    t.equal(result.status, 200, result.text);
    t.equal(result.upstream, upstreamName("hangs", 1));
    t.equal(result.cost, COST_MICRO_VND);
  });
});

t.test("a connection that breaks after six seconds is not taken for a reused one", async (t) => {
  const before = await askedUpstream();
  const result = await callOnce("breaks-late");
  t.equal(result.upstream, upstreamName("breaks-late", 1), result.text);
  t.equal((await askedUpstream()) - before, 2, "each route was asked once");
});

t.test("a call is tried at most six times", async (t) => {
  const before = await askedUpstream();
  const result = await callOnce("falls");
  t.equal(result.status, 502);
  t.equal((await askedUpstream()) - before, 6);
  t.equal(result.cost, 0n);
});

t.test("a call whose upstream has begun to reply", async (t) => {
  t.test("is not tried again if its stream breaks: what was delivered is charged", async (t) => {
    const before = await askedUpstream();
    const result = await callOnce("cut-later", { stream: true });
    t.equal(result.status, 200);
    t.match(result.text, /event: error/);
    t.notMatch(result.text, /message_stop/);
    t.equal((await askedUpstream()) - before, 1);
    t.ok(result.cost < COST_MICRO_VND, `${result.cost}`);
  });

  t.test("is served by the next if its unstreamed reply breaks, and charged once", async (t) => {
    const before = await askedUpstream();
    const result = await callOnce("cut-later");
    t.equal(result.status, 200);
    t.equal((await askedUpstream()) - before, 2);
    t.equal(result.cost, COST_MICRO_VND);
  });
});

t.test("a call that no upstream serves", async (t) => {
  t.test("gets the provider's 429 with its retry-after", async (t) => {
    const result = await callOnce("all-429");
    t.equal(result.status, 429);
    t.equal(result.headers.get("retry-after"), "9");
    t.match(result.text, /"rate_limit_error"/);
    t.equal(result.cost, 0n);
  });
});

t.test("a route whose upstream has failed five times in a row is skipped", async (t) => {
  for (let call = 0; call < 5; call++) t.equal((await callOnce("breaks")).status, 200);
  const before = await askedUpstream();
  t.equal((await callOnce("breaks")).status, 200);
  t.equal((await askedUpstream()) - before, 1, "only the working route was called");
});

t.test("a call that lasts too long", async (t) => {
  const hasty = await startRoutedGateway(
    simulator,
    { goes: [{ behaves: {} }] },
    { call_seconds: 3 },
  );
  t.teardown(async () => {
    await assertReconciled(hasty);
    await hasty.close();
  });

  t.test("gets 504 and costs nothing if it is not streamed", async (t) => {
    const { key, accountId } = await createCustomer(hasty, { creditVnd: CREDIT_VND });
    const response = await ask(
      hasty.url,
      key,
      PATH,
      bodyOf(PATH, { hang: true }, { model: "goes" }),
    );
    t.equal(response.status, 504);
    t.match(await response.text(), /"timeout_error"/);
    t.equal(await spent(hasty, accountId, CREDIT_VND), 0n);
  });

  t.test(
    "ends with an error event if it is streamed, and is charged for what was delivered",
    async (t) => {
      const { key, accountId } = await createCustomer(hasty, { creditVnd: CREDIT_VND });
      const directive = {
        text: "word ".repeat(400),
        deltas: 400,
        event_delay_ms: 20,
        ignore_max_tokens: true,
      };
      const body = bodyOf(PATH, directive, { model: "goes", stream: true });
      const text = await (await ask(hasty.url, key, PATH, body)).text();
      t.match(text, /event: error\ndata: .*"timeout_error"/);
      t.notMatch(text, /message_stop/);
      t.ok((await spent(hasty, accountId, CREDIT_VND)) > 0n);
      const [record] = await usage(hasty, accountId);
      t.equal(record?.["outcome"], "broken");
    },
  );
});

t.test("an upstream that falls silent in the middle of a stream", async (t) => {
  t.test(
    "is cancelled at the idle limit: the client gets an error event and pays for what was delivered",
    async (t) => {
      const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
      const directive = {
        text: "one two three",
        deltas: 3,
        silent_ms: 600_000,
        silent_after_events: 4,
      };
      const body = bodyOf(PATH, directive, { model: "goes", stream: true });
      const text = await (await ask(gateway.url, key, PATH, body)).text();
      t.match(
        text,
        /event: error\ndata: .*"timeout_error".*too slow: it sent nothing for 2 seconds/,
      );
      t.notMatch(text, /message_stop/);
      t.ok((await spent(gateway, accountId, CREDIT_VND)) > 0n);
    },
  );
});
