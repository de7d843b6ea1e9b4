import {
  accountSuspended,
  type Call,
  failpoint,
  httpAddress,
  type MicroVnd,
  type Model,
  outputTokensMax,
  type Plugin,
  type Refusal,
  refuse,
  type Services,
  type Sink,
  Tariff,
  ThrottledLog,
  type UpstreamRequest,
  url,
  type Verdict,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { amountFor, baseOf, outputFor } from "./bounds.ts";
import { addCallRoute } from "./call-route.ts";
import { emptyWallet } from "./empty-wallet.ts";
import { HoldExtender } from "./hold-extender.ts";
import { lingerMsOf } from "./linger.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import { certainCharge, postingOf, type Wallets } from "./posting.ts";
import { PricedHead, pushCost, pushPrice } from "./price-headers.ts";

type Held = NonNullable<Call["held"]>;

export const requires = ["key", "model", "upstream", "usage"];
export const takes = ["purses"];
export const sets = ["hold"];
export const uses = ["wallets"];
export const reads = ["headers", "listen"];

export const options = v.strictObject({
  /**
   * Output tokens by which a stream's hold grows. A stream whose reasoning is hidden holds its whole
   * limit instead (profile: `streams_reasoning`).
   */
  slice_tokens: v.optional(whole(16, 1_000_000), 1024),
  /** What happens to a stream whose wallet runs out: `cut` it, or let it `finish` and write off the rest. */
  when_exhausted: v.optional(v.picklist(["cut", "finish"], "one of cut, finish"), "cut"),
  /**
   * What happens to the upstream call if the client disconnects. `linger` lets a call that is not streamed, an image or
   * speech run to its end, and cancels a stream after a while, in which it may report its usage. `drain` lets streams
   * run to their ends too. `cancel` stops every call at once, so output that the provider bills is not charged.
   */
  when_client_leaves: v.optional(
    v.picklist(["linger", "cancel", "drain"], "one of linger, cancel, drain"),
    "linger",
  ),
  /** Seconds until a stream is cancelled. */
  linger_seconds: v.optional(whole(0, 900), 2),
  /** The same if the model may reason and its stream does not show it (profile: `streams_reasoning`). */
  linger_reasoning_seconds: v.optional(whole(0, 900), 60),
  /**
   * The top-up page named in the message of a 402. Default: the dashboard at the public address of `accounts`, or at the
   * listening address.
   */
  topup_address: v.optional(
    url(["https?"], "an http:// or https:// URL, which customers can open"),
  ),
});

/** Holds money before a call goes upstream (402 if there is too little), extends holds of streams, posts or voids. */
export default function settle(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const { keys, clock, config, log, wires } = services;
  const wallets = services.wallets.current;
  const { prefix } = config.headers;
  const { host, port } = config.listen;
  const throttledLog = new ThrottledLog(log);
  const unbounded = new OneAtATime();

  /** Returns the number of choices requested; each may use the whole output limit. */
  function choicesOf(upstream: UpstreamRequest): number {
    const { protocol, body } = upstream;
    return body ? wires[protocol].choices(body) : 1;
  }

  function insufficient(): Refusal {
    const address = services.customers.current.publicUrl ?? httpAddress(host, port);
    const topup = settings.topup_address ?? `${address}/dashboard`;
    return refuse.insufficientBalance(
      `The wallet's balance does not cover this call. Top up at ${topup}; the same key then works again.`,
    );
  }

  /** Returns the refusal of the purse that does not cover the call, or of the wallet. */
  function notCovered(
    call: Call,
    short: Extract<Awaited<ReturnType<Wallets["hold"]>>, { readonly kind: "short" }>,
  ): Refusal {
    const purse = call.purses.find(({ name }) => name === short.purse);
    return purse ? purse.refusal(short.availableMicroVnd) : insufficient();
  }

  /** Reads from the ledger whether another process has revoked or paused the key, or suspended its account. */
  async function refusedKey(call: Call): Promise<Refusal> {
    const { id, key } = call;
    const now = key && (await keys.refused(key).catch(() => undefined));
    if (now?.status !== "active") {
      return refuse.unauthenticated("The API key was revoked; create a new one.", {
        code: "invalid_api_key",
      });
    }
    if (now.accountStatus === "suspended") return accountSuspended();
    const refusal = now.limits?.refusal(clock.now(), call);
    if (refusal) return refusal;
    log.info(
      { call_id: id, key_id: now.id },
      "the hold store listed an active key as revoked; marked it active again",
    );
    return refuse.unavailable("The account was just resumed; try again.");
  }

  /** `least`: what the input must be held for if the wallet does not cover all that is wanted. */
  function decide(
    call: Call,
    wantedHold: Held,
    least: Held["baseQuantity"],
    wanted: MicroVnd,
    result: Awaited<ReturnType<Wallets["hold"]>>,
  ): Verdict | Promise<Verdict> {
    switch (result.kind) {
      case "held":
        break;
      case "short":
        return notCovered(call, result);
      case "no_account":
        return insufficient();
      case "revoked":
        return refusedKey(call);
      case "stale":
        return renewAndHold(call);
      case "unavailable":
        throttledLog.warn(
          { call_id: call.id, reason: result.reason },
          "cannot hold money; the call gets 503",
        );
        return refuse.unavailable("Calls cannot be charged right now; try again shortly.");
    }
    failpoint("hold.after");
    call.heldMicroVnd = result.amountMicroVnd;
    const isLess = result.amountMicroVnd < wanted && wantedHold.tariff.unit === "mtok";
    const held = isLess ? { ...wantedHold, baseQuantity: least } : wantedHold;
    call.held = held;
    pushPrice(call, held.tariff, prefix);
    if (isLess) {
      held.outputTokens = Math.min(outputFor(held, result.amountMicroVnd), held.outputTokensMax);
      const { upstream } = call;
      if (upstream) upstream.outputLimit = Math.floor(held.outputTokens / choicesOf(upstream));
    }
    return undefined;
  }

  /** Holds money at the current price. If the wallet was credited after `creditVersion`, reads the key again first. */
  function hold(
    call: Call,
    key: NonNullable<Call["key"]>,
    model: Model,
    upstream: UpstreamRequest,
    creditVersion: number,
  ): Verdict | Promise<Verdict> {
    const factor = call.surcharge?.factor;
    const tariff = Tariff.of(model, key.discountBps, key.discounts, clock.now(), factor);
    const { quantity, least, feesMicroVnd } = baseOf(call, model, tariff);
    let outputTokens = 0;
    let outputMax = 0;
    let floorTokens = 0;
    if (tariff.unit === "mtok") {
      const { protocol, body } = upstream;
      const limit = body && wires[protocol].outputLimit(body);
      const choices = choicesOf(upstream);
      outputMax = outputTokensMax(limit, model) * choices;
      const slice = Math.max(settings.slice_tokens, choices);
      // Tokens that the stream does not carry cannot be held step by step, so the whole limit is held.
      const isCounted = call.stream && !services.upstreams.hidesReasoning(model, upstream);
      outputTokens = isCounted ? Math.min(slice, outputMax) : outputMax;
      floorTokens = Math.min(choices * wires[protocol].outputMin, outputMax);
    } else if (model.maxOutputTokens !== undefined) {
      // No hold ends the output at a price per call, so the provider must, even if the client sets no limit.
      upstream.outputLimit = model.maxOutputTokens;
    }
    const held = {
      tariff,
      catalogue: services.catalogue,
      baseQuantity: quantity,
      feesMicroVnd,
      outputTokens,
      outputTokensMax: outputMax,
    };
    const wanted = amountFor(held, outputTokens);
    const floor = amountFor({ tariff, baseQuantity: least, feesMicroVnd }, floorTokens);
    failpoint("hold.before");
    const result = wallets.hold({
      callId: call.id,
      accountId: key.accountId,
      keyId: key.id,
      amountMicroVnd: wanted,
      floorMicroVnd: floor,
      creditVersion,
      purses: call.purses.length > 0 ? call.purses : undefined,
    });
    if (!(result instanceof Promise)) return decide(call, held, least, wanted, result);
    return result.then((late) => decide(call, held, least, wanted, late));
  }

  function providerCostOf(call: Call): MicroVnd | null {
    try {
      return services.providerCosts.current(call);
    } catch (error) {
      log.error({ err: error, call_id: call.id }, "cannot compute what a call costs the operator");
      return null;
    }
  }

  /** Reads the key again after a credit, which may have earned a discount, then holds. */
  async function renewAndHold(call: Call): Promise<Verdict> {
    const { key, model, upstream } = call;
    if (!key || !model || !upstream) return undefined;
    call.key = await keys.renew(key);
    // Accepts any version: a later credit came after this call.
    return hold(call, call.key, model, upstream, Number.MAX_SAFE_INTEGER);
  }

  return {
    name: "settle",

    routes(router) {
      addCallRoute(router, services);
    },

    admit: (call) => emptyWallet(call, wallets, clock.now(), insufficient),

    request(call) {
      const { key, model } = call;
      if (!key || !model || !call.upstream) return undefined;
      if (call.surcharge?.unbounded && !unbounded.begin(key.accountId, call)) {
        return refuse.rateLimited(
          "A call whose input cannot be bounded is still running for this account: wait until it ends.",
          { headers: ["retry-after", "1"] },
        );
      }
      const budgets = key.limits?.budgets(clock.now());
      if (budgets && budgets.length > 0) {
        // The list itself, if it can be: what is made of it is remembered by it.
        call.purses = call.purses.length === 0 ? budgets : [...call.purses, ...budgets];
      }
      call.lingerMs = lingerMsOf(call, model, call.upstream, settings, services.upstreams);
      return hold(call, key, model, call.upstream, key.creditVersion);
    },

    stream(call, client): Sink {
      const { held } = call;
      const mayFinish = settings.when_exhausted === "finish";
      if (!held || !call.stream || held.tariff.unit !== "mtok") {
        return call.endpoint.protocol === "speech"
          ? new PricedHead(call, client, held, prefix)
          : client;
      }
      return new HoldExtender(call, client, held, wallets, {
        sliceTokens: settings.slice_tokens,
        onShort: mayFinish ? undefined : (short) => (short ? notCovered(call, short) : HOLD_GONE),
      });
    },

    close(call) {
      const { held } = call;
      unbounded.end(call);
      if (!held || !call.key) return undefined;
      if (call.attempts === 0) {
        failpoint("void.before");
        const voided = wallets.void(call.id, call.key.accountId);
        if (voided instanceof Promise) return voided.then(() => failpoint("void.after"));
        return failpoint("void.after");
      }
      const charge = certainCharge(call, held, (error) =>
        log.error(
          { err: error, call_id: call.id },
          "cannot compute the cost of a call; it is charged what was held for it",
        ),
      );
      failpoint("post.before");
      const { accountId } = call.key;
      const posting = postingOf(call, charge, providerCostOf(call), clock.monotonic());
      const posted = wallets.post(posting);
      return posted instanceof Promise ? posted.then(show, notPosted) : show(posted);

      /** No store took the post. Charges later what the client received; voids the hold if what it pays for was withheld. */
      async function notPosted(error: unknown): Promise<never> {
        const isWithheld = call.replyBody !== undefined || call.endpoint.comesAtEnd;
        if (call.delivered && !isWithheld) wallets.postLater(posting);
        else await wallets.void(call.id, accountId);
        throw error;
      }

      function show(result: Awaited<ReturnType<Wallets["post"]>>): undefined {
        failpoint("post.after");
        call.costMicroVnd = result.chargedMicroVnd;
        call.writtenOffMicroVnd = result.writtenOffMicroVnd;
        // The headers of audio, which include its cost, were sent before it. Those of a stream state none, though the head of
        // one with a single event, such as an image, leaves after the charge.
        const isWhole = !call.stream || call.replyBody !== undefined;
        if (call.status === 200 && call.endpoint.protocol !== "speech" && isWhole) {
          pushCost(call, charge, result, prefix);
        }
        return undefined;
      }
    },
  };
}

const HOLD_GONE = refuse.unavailable(
  "The money held for this call was given back while the balances could not be reached; send the call again.",
);
