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

type CallerKey = NonNullable<Call["key"]>;
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

  function enter(call: Call, { id, limits }: CallerKey): Verdict | Promise<Verdict> {
    const most = lower(settings.concurrent_calls, limits?.callsAtOnce);
    if (most === 0) return undefined;
    const entered = rateLimiter.enterCall(id, call.id, most);
    return entered instanceof Promise ? entered.then(decide) : decide(entered);

    function decide(allowed: boolean): Verdict {
      if (allowed) {
        running.add(call);
        return undefined;
      }
      const message = `This key is limited to ${most} calls at once; wait for one to finish.`;
      return limited(message, ["retry-after", "1"]);
    }
  }

  return {
    name: "rate-limit",

    admit(call) {
      const { key } = call;
      if (!key) return undefined;
      const ofOperator = key.requestsPerMinute ?? settings.requests_per_minute;
      const perMinute = lower(ofOperator, key.limits?.callsPerMinute);
      if (perMinute === 0) return enter(call, key);
      const burst = perMinute === ofOperator && settings.burst > 0 ? settings.burst : perMinute;
      const rate = rateLimiter.takeCall(key.id, perMinute, burst);
      return rate instanceof Promise ? rate.then(decide) : decide(rate);

      function decide(taken: Rate): Verdict | Promise<Verdict> {
        const headers = rateHeaders(taken, perMinute);
        if (taken.allowed) {
          call.replyHeaders.push(...headers);
          return key && enter(call, key);
        }
        const seconds = Math.max(1, Math.ceil(taken.retryMs / 1000));
        headers.push("retry-after", String(seconds));
        const message = `This key is limited to ${perMinute} calls a minute; wait for the seconds in retry-after.`;
        return limited(message, headers);
      }
    },

    close(call) {
      if (!running.delete(call) || !call.key) return undefined;
      const left = rateLimiter.leaveCall(call.key.id, call.id);
      return left instanceof Promise ? left : undefined;
    },
  };
}

/** Returns the lower limit; 0 is none. A key's owner can lower the operator's limit, and not raise it. */
function lower(ofOperator: number, ofOwner: number | undefined): number {
  if (ofOwner === undefined) return ofOperator;
  return ofOperator === 0 ? ofOwner : Math.min(ofOperator, ofOwner);
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
