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
type MemberLimits = NonNullable<CallerKey["limits"]>["ofMember"];
type Rate = Awaited<ReturnType<Services["rateLimiter"]["takeCall"]>>;

export const requires = ["key"];

const limit = whole(0, 1_000_000);

export const options = v.strictObject({
  /** Calls per minute and key; 0 = unlimited. A key's own limit overrides it. */
  requests_per_minute: v.optional(limit, 0),
  /**
   * Calls allowed at once after a rest, in which they come back at the rate of the limit; 0 = as many as it allows per
   * minute. A limit of one key allows no more at once than per minute.
   */
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
  /** Calls that count for the member of a team who uses their key. */
  const runningOfMember = new WeakSet<Call>();

  function enter(call: Call, { id, limits }: CallerKey): Verdict | Promise<Verdict> {
    const most = lower(settings.concurrent_calls, limits?.callsAtOnce);
    if (most === 0) return enterMember(call, limits?.ofMember);
    const entered = rateLimiter.enterCall(id, call.id, most);
    return entered instanceof Promise ? entered.then(decide) : decide(entered);

    function decide(allowed: boolean): Verdict | Promise<Verdict> {
      if (!allowed) return tooManyAtOnce("This key is", most);
      running.add(call);
      return enterMember(call, limits?.ofMember);
    }
  }

  /** Counts a call of a member too, if he has a limit of calls at once. */
  function enterMember(call: Call, member: MemberLimits): Verdict | Promise<Verdict> {
    const most = member?.callsAtOnce;
    if (!member || most === undefined) return undefined;
    const entered = rateLimiter.enterCall(member.of.id, call.id, most);
    return entered instanceof Promise ? entered.then(decide) : decide(entered);

    function decide(allowed: boolean): Verdict {
      if (!allowed) return tooManyAtOnce("You are", most ?? 0);
      runningOfMember.add(call);
      return undefined;
    }
  }

  /** Takes a call of a member out of his limit, if he has one. */
  function takeOfMember(call: Call, key: CallerKey): Verdict | Promise<Verdict> {
    const member = key.limits?.ofMember;
    const perMinute = member?.callsPerMinute;
    if (!member || perMinute === undefined) return enter(call, key);
    const rate = rateLimiter.takeCall(member.of.id, perMinute, perMinute);
    return rate instanceof Promise ? rate.then(decide) : decide(rate);

    function decide({ allowed, retryMs }: Rate): Verdict | Promise<Verdict> {
      return allowed ? enter(call, key) : tooFast("You are", perMinute ?? 0, retryMs);
    }
  }

  return {
    name: "rate-limit",

    admit(call) {
      const { key } = call;
      if (!key) return undefined;
      const ofOperator = key.requestsPerMinute ?? settings.requests_per_minute;
      const perMinute = lower(ofOperator, key.limits?.callsPerMinute);
      if (perMinute === 0) return takeOfMember(call, key);
      const isDefault = key.requestsPerMinute === null && perMinute === ofOperator;
      // Only the default may have a burst above it: a limit that is set for one key is the most it can send at once.
      const burst = isDefault ? settings.burst : Math.min(settings.burst, perMinute);
      const rate = rateLimiter.takeCall(key.id, perMinute, burst || perMinute);
      return rate instanceof Promise ? rate.then(decide) : decide(rate);

      function decide(taken: Rate): Verdict | Promise<Verdict> {
        const headers = rateHeaders(taken, perMinute);
        if (taken.allowed) {
          call.replyHeaders.push(...headers);
          return key && takeOfMember(call, key);
        }
        return tooFast("This key is", perMinute, taken.retryMs, headers);
      }
    },

    close(call) {
      const { key } = call;
      const left = running.delete(call) && key ? rateLimiter.leaveCall(key.id, call.id) : undefined;
      const memberId = key?.memberId;
      const leftToo =
        runningOfMember.delete(call) && memberId
          ? rateLimiter.leaveCall(memberId, call.id)
          : undefined;
      if (left instanceof Promise) return left.then(() => leftToo);
      return leftToo instanceof Promise ? leftToo : undefined;
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

function tooFast(
  whose: string,
  perMinute: number,
  retryMs: number,
  headers: readonly string[] = [],
): Refusal {
  const seconds = Math.max(1, Math.ceil(retryMs / 1000));
  const message = `${whose} limited to ${callsOf(perMinute)} a minute; wait for the seconds in retry-after.`;
  return limited(message, [...headers, "retry-after", String(seconds)]);
}

function tooManyAtOnce(whose: string, most: number): Refusal {
  const message = `${whose} limited to ${callsOf(most)} at once; wait for one to finish. It counts one that its client has left too, until its upstream ends.`;
  return limited(message, ["retry-after", "1"]);
}

function callsOf(count: number): string {
  return count === 1 ? "1 call" : `${count} calls`;
}

function limited(message: string, headers: readonly string[]): Refusal {
  return refuse.rateLimited(message, { code: "rate_limit_exceeded", headers });
}
