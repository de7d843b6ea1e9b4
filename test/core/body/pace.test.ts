import t, { type Test } from "tap";
import { BodyBudget } from "../../../core/body/receive.ts";

const MB = 1_048_576;
const BODY = 20 * MB;
/** The largest part of a body that uWebSockets.js delivers at once. */
const CHUNK = 512 * 1_024;
const SECONDS = 10;

interface Lane {
  readonly accountId: string;
  /** Sends nothing before this time. */
  readonly fromMs?: number;
}

/** Lets each lane send bodies as fast as it may. Returns the MB that were read of each, and how long its first body took. */
function flood(lanes: readonly Lane[]) {
  let nowMs = 0;
  const limits = { bodiesBytesMax: 1e9, bodyBytesMax: BODY, callsMax: 1_000 };
  const budget = new BodyBudget(limits, { monotonic: () => nowMs });
  const senders = lanes.map(({ accountId, fromMs = 0 }) => {
    const open = () => budget.open({ key: { accountId } });
    return { open, share: open(), fromMs, readyMs: fromMs, bytes: 0, bodyMs: 0 };
  });
  for (; nowMs < SECONDS * 1_000; nowMs++) {
    for (const sender of senders) {
      while (sender.readyMs <= nowMs) {
        sender.readyMs = nowMs + sender.share.read(CHUNK);
        sender.bytes += CHUNK;
        if (sender.bytes === BODY) sender.bodyMs = nowMs - sender.fromMs;
        if (sender.bytes % BODY === 0) sender.share = sender.open();
      }
    }
  }
  return senders.map(({ bytes, bodyMs }) => ({ megabytes: bytes / MB, bodyMs }));
}

function hasRead(t: Test, lanes: readonly { megabytes: number }[], perSecond: number): void {
  const all = lanes.reduce((sum, { megabytes }) => sum + megabytes, 0) / SECONDS;
  t.ok(all > 0.95 * perSecond && all < 1.1 * perSecond, `${all} MB a second`);
}

const times = (count: number, accountId: string) =>
  Array.from({ length: count }, (_, at) => ({ accountId: accountId.replace("#", String(at)) }));

t.test("bodies of 20 MB without a pause leave the event loop to others", async (t) => {
  hasRead(t, flood(times(1, "a")), 64);
  hasRead(t, flood(times(8, "a")), 64);
  hasRead(t, flood(times(8, "#")), 128);
});

t.test("a body of an account that sends few does not wait for one that sends many", async (t) => {
  const [honest] = flood([{ accountId: "honest", fromMs: 5_000 }, ...times(8, "a")]);
  t.equal(honest?.bodyMs, 0);
});

t.test("a body waits if several accounts send many, and arrives in time", async (t) => {
  const [honest] = flood([{ accountId: "honest", fromMs: 5_000 }, ...times(8, "#")]);
  t.ok((honest?.bodyMs ?? 0) < 2_000, `${honest?.bodyMs} ms`);
});
