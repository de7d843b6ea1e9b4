import t from "tap";
import { KeyLimits } from "../../../core/accounts/key-limits.ts";
import type { HttpCall } from "../../../core/http/http-call.ts";
import type { Rate } from "../../../core/limits/rate-limiter.ts";
import { isRefusal } from "../../../core/plugin/index.ts";
import rateLimit from "../../../plugins/rate-limit/index.ts";
import { newCall } from "../../support/call.ts";
import { deskOf, keyOf, replyHeaders } from "../../support/plugin-desk.ts";

type Settings = Parameters<typeof rateLimit>[1];

const ALLOWED: Rate = { allowed: true, remaining: 4, resetMs: 1_234, retryMs: 0 };

/** The plugin on a limiter that decides as the test says, at once or late. */
class Limited {
  readonly asked: string[] = [];
  rate: Rate = ALLOWED;
  mayEnter = true;
  isLate = false;
  readonly plugin: ReturnType<typeof rateLimit>;

  constructor(settings: Partial<Settings> = {}) {
    const later = <T>(value: T): T | Promise<T> => (this.isLate ? Promise.resolve(value) : value);
    const rateLimiter = {
      takeCall: (key: string, perMinute: number, burst: number) => {
        this.asked.push(`take ${key} ${perMinute} ${burst}`);
        return later(this.rate);
      },
      enterCall: (key: string, call: string, max: number) => {
        this.asked.push(`enter ${key} ${call} ${max}`);
        return later(this.mayEnter);
      },
      leaveCall: (key: string, call: string) => {
        this.asked.push(`leave ${key} ${call}`);
        return later(undefined);
      },
    };
    const all = { requests_per_minute: 0, burst: 0, concurrent_calls: 0, ...settings };
    this.plugin = rateLimit(deskOf({ rateLimiter }).services, all);
  }

  async admit(call: HttpCall): Promise<string> {
    const verdict = await this.plugin.admit?.(call);
    if (!isRefusal(verdict)) return "admitted";
    const after = verdict.headers[verdict.headers.indexOf("retry-after") + 1];
    return `${verdict.status} ${verdict.code}, after ${after}`;
  }
}

/** `ofOwner`: the limit that the key's owner has set. */
function callOf(requestsPerMinute: number | null = null, ofOwner?: number): HttpCall {
  const limits =
    ofOwner === undefined
      ? undefined
      : new KeyLimits({ kind: "key", id: "K" }, { calls_per_minute: ofOwner });
  return Object.assign(newCall(), { key: keyOf({ requestsPerMinute, limits }) });
}

t.test("the rate of a key", async (t) => {
  const table: [string, Partial<Settings>, number | null, string[]][] = [
    ["no limit", {}, null, []],
    ["the option, with a burst of as many", { requests_per_minute: 60 }, null, ["take K 60 60"]],
    ["a burst of its own", { requests_per_minute: 60, burst: 5 }, null, ["take K 60 5"]],
    ["the key's own limit counts", { requests_per_minute: 60 }, 30, ["take K 30 30"]],
    ["also if the option has none", {}, 30, ["take K 30 30"]],
    ["0 lifts the limit of a key", { requests_per_minute: 60 }, 0, []],
  ];
  for (const [what, settings, own, expected] of table) {
    const limited = new Limited(settings);
    t.equal(await limited.admit(callOf(own)), "admitted", what);
    t.strictSame(limited.asked, expected, what);
  }
});

t.test("a limit of one key has no burst above it", async (t) => {
  const table: [string, Partial<Settings>, number | null, number | undefined, string][] = [
    ["of the operator", { requests_per_minute: 60, burst: 40 }, 5, undefined, "take K 5 5"],
    ["the same as the default", { requests_per_minute: 5, burst: 40 }, 5, undefined, "take K 5 5"],
    ["of the owner", { requests_per_minute: 60, burst: 40 }, null, 5, "take K 5 5"],
    ["only the owner's", { burst: 40 }, null, 5, "take K 5 5"],
    ["a lower burst", { requests_per_minute: 60, burst: 5 }, null, 30, "take K 30 5"],
    ["the default may", { requests_per_minute: 5, burst: 40 }, null, undefined, "take K 5 40"],
  ];
  for (const [what, settings, ofOperator, ofOwner, expected] of table) {
    const limited = new Limited(settings);
    t.equal(await limited.admit(callOf(ofOperator, ofOwner)), "admitted", what);
    t.strictSame(limited.asked, [expected], what);
  }
});

t.test("a call without a key passes: no plugin has asked for one", async (t) => {
  const limited = new Limited({ requests_per_minute: 60, concurrent_calls: 1 });
  t.equal(await limited.admit(newCall()), "admitted");
  t.strictSame(limited.asked, []);
});

t.test("the reply says what is left, in the client's own headers", async (t) => {
  const call = callOf();
  await new Limited({ requests_per_minute: 60 }).admit(call);
  t.strictSame(replyHeaders(call), {
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-requests": "4",
    "x-ratelimit-reset-requests": "1.234s",
  });
});

t.test("a call beyond the rate gets 429 and the seconds to wait, rounded up", async (t) => {
  for (const [retryMs, seconds] of [
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [0, 1],
  ]) {
    const limited = new Limited({ requests_per_minute: 60, concurrent_calls: 3 });
    limited.rate = { allowed: false, remaining: 0, resetMs: 60_000, retryMs: retryMs ?? 0 };
    const call = callOf();
    t.equal(await limited.admit(call), `429 rate_limit_exceeded, after ${seconds}`);
    t.strictSame(limited.asked, ["take K 60 60"], "is not counted as running");
    t.strictSame(call.replyHeaders, [], "the headers are the refusal's");
    const verdict = await limited.plugin.admit?.(call);
    t.match(verdict, { headers: { 0: "x-ratelimit-limit-requests", 1: "60" } });
  }
});

t.test("calls at once", async (t) => {
  t.test("are counted in by admit and out by close, at once or late", async (t) => {
    for (const isLate of [false, true]) {
      const limited = new Limited({ concurrent_calls: 3 });
      limited.isLate = isLate;
      const call = callOf();
      t.equal(limited.plugin.admit?.(call) instanceof Promise, isLate);
      await Promise.resolve();
      t.equal(limited.plugin.close?.(call) instanceof Promise, isLate);
      t.strictSame(limited.asked, ["enter K id 3", "leave K id"]);
    }
  });

  t.test("are counted after the rate", async (t) => {
    const limited = new Limited({ requests_per_minute: 60, concurrent_calls: 3 });
    t.equal(await limited.admit(callOf()), "admitted");
    t.strictSame(limited.asked, ["take K 60 60", "enter K id 3"]);
  });

  t.test("beyond the limit get 429, and are not counted out", async (t) => {
    const limited = new Limited({ concurrent_calls: 3 });
    limited.mayEnter = false;
    const call = callOf();
    t.equal(await limited.admit(call), "429 rate_limit_exceeded, after 1");
    t.match(await limited.plugin.admit?.(call), { message: /one that its client has left too/ });
    limited.asked.pop();
    limited.plugin.close?.(call);
    t.strictSame(limited.asked, ["enter K id 3"]);
  });

  t.test("are counted out once, and only if there is a limit", async (t) => {
    const limited = new Limited({ concurrent_calls: 3 });
    const call = callOf();
    await limited.admit(call);
    limited.plugin.close?.(call);
    limited.plugin.close?.(call);
    t.equal(limited.asked.filter((line) => line.startsWith("leave")).length, 1);
    const free = new Limited({});
    await free.admit(callOf());
    free.plugin.close?.(callOf());
    t.strictSame(free.asked, []);
  });
});
