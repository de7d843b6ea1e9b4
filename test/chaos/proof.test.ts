import t from "tap";
import type { Books } from "./books.ts";
import type { ClientCall } from "./call.ts";
import type { Evidence } from "./evidence.ts";
import { HoldWatch, OUTLIVES_MS_MAX } from "./hold-watch.ts";
import { prove } from "./proof.ts";

const ACCOUNT = "account-1";
const CREDIT = 1_000_000n;
/** 3 tokens of input and 5 of output, at 36,000 µđ. */
const COST = 288_000n;
const STARTED_MS = 1_000_000;

t.test("the proof of a run", async (t) => {
  t.test("finds nothing if every call is charged once", async (t) => {
    t.strictSame(rules(evidence([wholeCall("a")]), books(["a"])), []);
  });

  t.test("detects a whole reply that is in no record", async (t) => {
    const calls = [wholeCall("a"), wholeCall("b")];
    t.strictSame(rules(evidence(calls), books(["a"])), ["a whole reply is charged"]);
  });

  t.test("allows it to the gateway and the time of a double failure, by name", async (t) => {
    const name = "redis and a gateway";
    const lost = wholeCall("a");
    const allowance = { name, gateway: 0, fromMs: lost.endedMs - 1, toMs: lost.endedMs + 1 };
    const allowed = evidence([lost], { allowances: [allowance] });
    t.strictSame(rules(allowed, books([])), []);
    t.strictSame([...prove(allowed, books([])).totals.lostCalls], [[name, 1]]);

    for (const other of [
      { gateway: 1 },
      { toMs: lost.endedMs - 1 },
      { fromMs: lost.endedMs + 1 },
    ]) {
      const beside = evidence([lost], { allowances: [{ ...allowance, ...other }] });
      t.strictSame(rules(beside, books([])), ["a whole reply is charged"]);
    }
  });

  t.test("allows it to a client that reads the end of its reply later", async (t) => {
    const lost = { ...wholeCall("a"), stalled: true };
    const times = { fromMs: lost.startedMs, toMs: lost.startedMs + 1 };
    const allowances = [{ name: "a backup", gateway: undefined, ...times }];
    t.strictSame(rules(evidence([lost], { allowances }), books([])), []);
    const prompt = { ...lost, stalled: false };
    const found = rules(evidence([prompt], { allowances }), books([]));
    t.strictSame(found, ["a whole reply is charged"]);
  });

  t.test("detects a record without a call", async (t) => {
    t.strictSame(rules(evidence([wholeCall("a")]), books(["a", "b"])), [
      "every record is of a call",
    ]);
  });

  t.test("allows more than a client saw only if the provider reported it", async (t) => {
    const plan = { ...wholeCall("a").plan, streamed: true, outputTokens: 305 };
    const left = { ...wholeCall("a"), plan, end: "left", seenTokens: 5 } as const;
    const output = { output_tokens: 305n, charged: 308n * 36_000n, outcome: "gone" };
    const of = (call: ClientCall, estimated: boolean) => {
      const { usage, ledger, ...rest } = books(["a"]);
      const rows = usage.map((row) => ({ ...row, ...output, estimated }));
      return rules(evidence([call]), { ...rest, ledger, usage: rows });
    };
    const rule = "a cut call costs at most what was delivered";
    t.notOk(of(left, false).includes(rule), "it reported while the gateway read on");
    t.ok(of(left, true).includes(rule));
    t.ok(of({ ...left, end: "cut" }, false).includes(rule));
  });

  t.test("detects a hold that is left", async (t) => {
    const redisState = {
      wallets: new Map(),
      holds: new Map([["b", `5:gateway:${ACCOUNT}`]]),
      outboxEntries: 0,
    };
    t.strictSame(rules(evidence([], { redisState }), books([])), ["no hold is left"]);
  });

  t.test("detects that Redis is not whole", async (t) => {
    t.strictSame(rules(evidence([], { redisState: undefined }), books([])), ["redis can be read"]);
  });
});

t.test("the watch of holds", async (t) => {
  const endMs = STARTED_MS + 5;

  t.test("detects a hold that outlives its call", async (t) => {
    const watch = new HoldWatch([wholeCall("a")]);
    see(watch, "a", endMs, endMs + OUTLIVES_MS_MAX);
    t.strictSame(watch.violations, []);
    see(watch, "a", endMs + OUTLIVES_MS_MAX + 1_000, endMs + OUTLIVES_MS_MAX + 9_000);
    t.strictSame(
      watch.violations.map(({ callId }) => callId),
      ["a"],
      "once",
    );
  });

  t.test("detects one whose client got no reply", async (t) => {
    const watch = new HoldWatch([]);
    see(watch, "b", endMs, endMs + 2 * OUTLIVES_MS_MAX);
    t.equal(watch.violations.length, 1);
  });

  t.test("allows one that an old snapshot of Redis brings back for a moment", async (t) => {
    const watch = new HoldWatch([wholeCall("a")]);
    watch.look(["a"], endMs);
    watch.look(["a"], endMs + 10 * OUTLIVES_MS_MAX);
    t.strictSame(watch.violations, []);
  });
});

function see(watch: HoldWatch, id: string, fromMs: number, untilMs: number): void {
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += 1_000) watch.look([id], nowMs);
}

function rules(seen: Evidence, found: Books): string[] {
  return prove(seen, found).violations.map(({ rule }) => rule);
}

function evidence(calls: readonly ClientCall[], more: Partial<Evidence> = {}): Evidence {
  return {
    calls,
    movements: [],
    rich: new Set([ACCOUNT]),
    startMicroVnd: new Map([[ACCOUNT, CREDIT]]),
    redisState: { wallets: new Map(), holds: new Map(), outboxEntries: 0 },
    belowZero: new Set(),
    allowances: [],
    ...more,
  };
}

/** The start credit, then a charge for each of these calls. */
function books(ids: readonly string[]): Books {
  const start = { account_id: ACCOUNT, kind: "credit", amount: CREDIT, balance_after: CREDIT };
  const charges = ids.map((id, at) => ({
    account_id: ACCOUNT,
    kind: "charge",
    amount: -COST,
    balance_after: CREDIT - COST * BigInt(at + 1),
    call_id: id,
    reference: null,
  }));
  return {
    usage: ids.map((id) => ({
      call_id: id,
      account_id: ACCOUNT,
      model: "model",
      mapped_from: `chaos-${id}`,
      charged: COST,
      written_off: 0n,
      input_tokens: 3n,
      output_tokens: 5n,
      outcome: "complete",
      estimated: false,
    })),
    ledger: [{ ...start, call_id: null, reference: "start" }, ...charges],
    wallets: [{ account_id: ACCOUNT, balance: CREDIT - COST * BigInt(ids.length) }],
    quarantined: 0n,
  };
}

function wholeCall(id: string): ClientCall {
  return {
    plan: {
      name: `chaos-${id}`,
      path: "/v1/messages",
      streamed: false,
      microVndPerToken: 36_000n,
      inputTokens: 3,
      outputTokens: 5,
      reader: "prompt",
      body: "",
    },
    accountId: ACCOUNT,
    gateway: 0,
    startedMs: STARTED_MS,
    endedMs: STARTED_MS + 5,
    end: "whole",
    status: 200,
    id,
    seenTokens: 5,
    inputTokens: 3,
    outputTokens: 5,
    costVnd: undefined,
    error: undefined,
    stalled: false,
  };
}
