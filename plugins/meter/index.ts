import {
  type Call,
  isBilled,
  type Model,
  mergeProfiles,
  type Plugin,
  refuse,
  type Services,
  type Sink,
  ThrottledLog,
  Usage,
  v,
} from "../../core/plugin/index.ts";
import { contentsIn, type Factors, type PlainContents, tokensOf } from "./bound.ts";
import { addCountTokensRoute, COUNTING } from "./count-tokens.ts";
import { fillIn } from "./estimate.ts";
import { EventMeter } from "./event-meter.ts";
import { Overheads } from "./families.ts";
import { inputTokensMax, type UsageCheck, withdrawImplausible } from "./implausible.ts";

/** Counted in the thread that translates a long body. */
const CONTENTS: Services["bodyMeasures"]["all"][number] = {
  name: "contents",
  module: new URL("./bound-thread.js", import.meta.url).href,
};

export const requires = ["key", "model", "upstream"];
export const sets = ["usage"];
export const provides = ["bodyMeasures"];
export const reads = ["headers"];

const factor = (value: number) =>
  v.optional(v.pipe(v.number("a number"), v.minValue(0.1), v.maxValue(100_000)), value);

const share = (value: number) =>
  v.optional(v.pipe(v.number("a number"), v.minValue(0), v.maxValue(10)), value);

export const options = v.pipe(
  v.strictObject({
    /**
     * Factors for holds: cautious, so that a hold covers what the provider will count. Those of text are
     * measured against two tokenizers (README). An image of unknown size is taken for one of 1,400 x 1,400
     * pixels at Claude, unless the model counts more. Other files, such as video, have no measured factor.
     */
    hold: v.optional(
      v.strictObject({
        ascii_bytes_per_token: factor(3),
        other_bytes_per_token: factor(1.5),
        image_tokens: factor(2500),
        document_bytes_per_token: factor(25),
        density_share: share(1),
        overhead_share: share(1),
      }),
      {},
    ),
    /** Factors for the charge if a provider reports no usage: averages, of an image of 1,024 x 1,024 pixels. */
    estimate: v.optional(
      v.strictObject({
        ascii_bytes_per_token: factor(4.2),
        other_bytes_per_token: factor(2.4),
        image_tokens: factor(1200),
        document_bytes_per_token: factor(40),
        density_share: share(0.4),
        overhead_share: share(0.5),
      }),
      {},
    ),
  }),
  v.check(
    ({ hold, estimate }) => isAsCautious(hold, estimate),
    "factors of hold that are at least as cautious as those of estimate",
  ),
);

type Settings = v.InferOutput<typeof options>;

/** Returns false if an estimate may be more than what was held, so that the rest would be written off. */
function isAsCautious(
  hold: Readonly<Record<string, number>>,
  estimate: Readonly<Record<string, number>>,
): boolean {
  return Object.entries(hold).every(([name, held]) => {
    const estimated = estimate[name] ?? held;
    return name.endsWith("_per_token") ? held <= estimated : held >= estimated;
  });
}

/** Counts what a call uses: a bound before it, the provider's report after it, or an estimate without a report. */
export default function meter(services: Services, settings: Settings): Plugin {
  const bound = factorsOf(settings.hold, true);
  const likely = factorsOf(settings.estimate, false);
  const { prefix } = services.config.headers;
  let counting: ReturnType<Services["newThreads"]> | undefined;
  const overheads = new Overheads(services);
  const throttledLog = new ThrottledLog(services.log);

  function choicesOf({ upstream }: Call): number {
    return upstream?.body ? services.wires[upstream.protocol].choices(upstream.body) : 1;
  }

  const check: UsageCheck = (call) => {
    const { usage, model, route } = call;
    if (!usage || !model || !call.upstream) return;
    const withdrawn = withdrawImplausible(usage, model, choicesOf(call));
    if (!withdrawn) return;
    call.estimated = true;
    throttledLog.warn(
      { call_id: call.id, model: model.id, upstream: route?.upstream, ...withdrawn },
      "a provider reported more tokens than its model can have; the gateway counts the tokens itself",
    );
  };

  function isCachedBeside({ route }: Call): boolean {
    if (!route) return false;
    const { profile } = services.upstreams.get(route.upstream)?.config ?? {};
    return mergeProfiles(profile, route.profile).cached_tokens === "beside";
  }

  function setBound(call: Call, model: Model, contents: PlainContents): void {
    const most = inputTokensMax(model, choicesOf(call)) ?? Number.POSITIVE_INFINITY;
    const overhead = overheads.of(model);
    const tokens = tokensOf(contents, bound, overhead);
    call.inputTokensLikely = tokensOf(contents, likely, overhead);
    // The window is the operator's word, and the provider may take more: then the whole prompt is held for.
    call.inputTokensBound = call.inputTokensLikely > most ? tokens : Math.min(tokens, most);
  }

  function pushTokens(call: Call, { inputTokens, outputTokens }: Readonly<Usage>): void {
    const names = [`${prefix}input-tokens`, `${prefix}output-tokens`] as const;
    call.replyHeaders.push(names[0], String(inputTokens), names[1], String(outputTokens));
  }

  return {
    name: "meter",
    routes(router) {
      // Each reload asks for the routes again.
      counting ??= services.newThreads(COUNTING);
      addCountTokensRoute(router, counting, services);
    },
    async start() {
      services.bodyMeasures.provide(CONTENTS);
    },

    async stop() {
      await counting?.stop();
    },

    request(call) {
      const { upstream, model } = call;
      const body = upstream?.body;
      if (!body || !model) return undefined;
      // Images and speech are not priced per token, so their tokens are recorded only if reported, never estimated.
      if (model.standard !== "images" && model.standard !== "speech") {
        setBound(call, model, contentsIn(body, CONTENTS.name));
        const refusal = tooLong(call, model);
        if (refusal) return refusal;
      }
      call.usage = new Usage();
      return undefined;
    },

    stream(call, client): Sink {
      const { upstream } = call;
      if (!upstream) return client;
      const wire = services.wires[upstream.protocol];
      const usage = call.usage ?? new Usage();
      call.usage = usage;
      const { body } = upstream;
      const hidden = call.stream && body !== undefined && wire.lacksUsage(body);
      upstream.wantsUsage = hidden;
      const beside = () => isCachedBeside(call);
      const onAudio = wire.protocol === "speech" ? () => pushTokens(call, NONE) : undefined;
      return new EventMeter(call, client, wire, usage, likely, hidden, check, beside, onAudio);
    },

    close(call) {
      const { usage } = call;
      const isCounted = isBilled(call);
      if (!usage || !(isCounted || call.status === 200)) return;
      if (isCounted) {
        check(call);
        if (fillIn(call, usage)) call.estimated = true;
      }
      // The headers of audio were written when it began, and those of a stream state no usage.
      const isWhole = !call.stream || call.replyBody !== undefined;
      if (call.endpoint.protocol !== "speech" && isWhole)
        pushTokens(call, isCounted ? usage : NONE);
    },
  };
}

/**
 * Refuses more input than the catalogue sells in one call. Only the provider can count it, so the average decides, and not
 * the bound, which is too high for most texts. Clients that shorten their conversation look for these words and this code.
 */
function tooLong({ inputTokensLikely: likely }: Call, { id, inputTokensMax: most }: Model) {
  if (most === undefined || likely === undefined || likely <= most) return undefined;
  return refuse.badRequest(
    `prompt is too long: ${likely} tokens > ${most} maximum of ${id}; shorten it, or use a model priced by the token`,
    { code: "context_length_exceeded" },
  );
}

const NONE: Readonly<Usage> = Object.freeze(new Usage());

function factorsOf(settings: Settings["hold"], isBound: boolean): Factors {
  return {
    isBound,
    asciiBytesPerToken: settings.ascii_bytes_per_token,
    otherBytesPerToken: settings.other_bytes_per_token,
    imageTokens: settings.image_tokens,
    documentBytesPerToken: settings.document_bytes_per_token,
    densityShare: settings.density_share,
    overheadShare: settings.overhead_share,
  };
}
