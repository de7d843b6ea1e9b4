import {
  type Call,
  type Plugin,
  type Refusal,
  refuse,
  type Services,
  type Verdict,
  v,
  whole,
} from "../../core/plugin/index.ts";

type Rate = Awaited<ReturnType<Services["rateLimiter"]["takeCall"]>>;

export const requires = ["key"];

const limit = whole(0, 1_000_000);

export const options = v.strictObject({
  /** Calls per minute and key; 0 = unlimited. A key's own limit overrides it. */
  requests_per_minute: v.optional(limit, 0),
  /** Calls allowed at once after a quiet minute; 0 = as many as the limit allows per minute. */
  burst: v.optional(limit, 0),
  /** Maximum calls in flight per key; 0 = unlimited. */
  concurrent_calls: v.optional(limit, 0),
});

/** Refuses calls beyond a key's rate or number in flight with 429; adds the `x-ratelimit-*` headers. */
export default function rateLimit(
  { rateLimiter }: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const running = new WeakSet<Call>();

  function enter(call: Call, keyId: string): Verdict | Promise<Verdict> {
    if (settings.concurrent_calls === 0) return undefined;
    const entered = rateLimiter.enterCall(keyId, call.id, settings.concurrent_calls);
    return entered instanceof Promise ? entered.then(decide) : decide(entered);

    function decide(allowed: boolean): Verdict {
      if (allowed) {
        running.add(call);
        return undefined;
      }
      const most = settings.concurrent_calls;
      const message = `This key is limited to ${most} calls at once; wait for one to finish.`;
      return limited(message, ["retry-after", "1"]);
    }
  }

  return {
    name: "rate-limit",

    admit(call) {
      const { key } = call;
      if (!key) return undefined;
      const perMinute = key.requestsPerMinute ?? settings.requests_per_minute;
      if (perMinute === 0) return enter(call, key.id);
      const burst = settings.burst === 0 ? perMinute : settings.burst;
      const rate = rateLimiter.takeCall(key.id, perMinute, burst);
      return rate instanceof Promise ? rate.then(decide) : decide(rate);

      function decide(taken: Rate): Verdict | Promise<Verdict> {
        const headers = rateHeaders(taken, perMinute);
        if (taken.allowed) {
          call.replyHeaders.push(...headers);
          return enter(call, key?.id ?? "");
        }
        const seconds = Math.max(1, Math.ceil(taken.retryMs / 1000));
        headers.push("retry-after", String(seconds));
        const message = `This key is limited to ${perMinute} calls a minute; wait for the seconds in retry-after.`;
        return limited(message, headers);
      }
    },

    close(call) {
      if (settings.concurrent_calls === 0 || !running.delete(call) || !call.key) return undefined;
      const left = rateLimiter.leaveCall(call.key.id, call.id);
      return left instanceof Promise ? left : undefined;
    },
  };
}

function rateHeaders(rate: Rate, perMinute: number): string[] {
  return [
    "x-ratelimit-limit-requests",
    String(perMinute),
    "x-ratelimit-remaining-requests",
    String(rate.remaining),
    "x-ratelimit-reset-requests",
    `${(rate.resetMs / 1000).toFixed(3)}s`,
  ];
}

function limited(message: string, headers: readonly string[]): Refusal {
  return refuse.rateLimited(message, { code: "rate_limit_exceeded", headers });
}
