import { join } from "node:path";
import {
  type Call,
  FORWARDED_HEADERS,
  hasRoute,
  headToRead,
  isRefusal,
  type JsonObject,
  type Model,
  objectOf,
  type Plugin,
  type Protocol,
  type Refusal,
  refuse,
  type Services,
  secretFile,
  unchangedRequest,
  type Verdict,
  type WrittenJson,
} from "../../core/plugin/index.ts";
import { FetchPlaces } from "./fetch-places.ts";
import { fetchImages, imageEditForm, isAddress } from "./image-edit.ts";
import { KeepAlivePings } from "./keep-alive-pings.ts";
import { LongRequest } from "./long-request.ts";
import { isLong, LongTranslation, translateInThread } from "./long-translation.ts";
import { nativeRequest } from "./native.ts";
import type { Translated } from "./notes.ts";
import type { ReplyTranslation } from "./reply-translation.ts";
import { StateSeal } from "./state/seal.ts";
import { needsResponses, speaksResponsesAlone } from "./tools-by-responses.ts";
import { TranslatedRequest } from "./translated-request.ts";
import { TranslatingSink } from "./translating-sink.ts";
import { Translation } from "./translation.ts";

/** Name of the file in the data folder whose secret is used if the config has no admin token. */
const STATE_KEY_FILE = "state-key";
/** The beta without which the provider refuses `thinking.block_binding`. */
const BINDING_BETA = "thinking-binding-controls-2026-08-01";

export const requires = ["model"];
export const sets = ["upstream"];
export const reads = ["headers"];

/**
 * Translates requests and replies between Messages and Chat Completions, and from Responses to both, if client and
 * model differ. Edits every request to the form that its model accepts.
 */
export default function translate(services: Services): Plugin {
  const { prefix } = services.config.headers;
  const translations = new WeakMap<Call, ReplyTranslation>();
  const pings = new KeepAlivePings();
  const places = new FetchPlaces();
  /** Until the start has read the secret, no call is served. */
  let seal = StateSeal.of("");

  function translateRequest(call: Call, model: Model, to: Protocol): Verdict {
    const translation = new Translation(call, model, services, seal, to);
    const made = translation.first();
    if (!made?.ok) return refusalOf(made, model);
    use(call, translation, made.body);
    return undefined;
  }

  /**
   * Sends a call with tools out as Responses if its model thinks with tools only there. Returns false
   * if the request cannot be expressed there, or would lose a field that the call pays for: Chat takes it, without
   * thinking.
   */
  function goesByResponses(call: Call, model: Model): boolean {
    const translation = new Translation(call, model, services, seal, "responses");
    const made = translation.first();
    if (!made?.ok || losesWhatIsPaid(call, translation)) return false;
    use(call, translation, made.body);
    return true;
  }

  function use(call: Call, translation: Translation, body: JsonObject): void {
    translations.set(call, translation);
    call.upstream = new TranslatedRequest(translation, body, headersFor(body));
  }

  /** Does the same as `goesByResponses`, `translateRequest` and `passRequest`, in a thread as far as bodies are translated. */
  async function sendLong(call: Call, model: Model, { byResponses, to }: Way): Promise<Verdict> {
    if (byResponses) {
      const translation = await translateInThread(call, model, services, seal, "responses");
      if (isRefusal(translation)) return translation;
      const made = translation.first();
      if (made?.ok && !losesWhatIsPaid(call, translation)) {
        return useLong(call, model, translation, made.body);
      }
    }
    if (to === undefined) return passRequest(call, model);
    const translation = await translateInThread(call, model, services, seal, to);
    if (isRefusal(translation)) return translation;
    const made = translation.first();
    return made?.ok ? useLong(call, model, translation, made.body) : refusalOf(made, model);
  }

  function useLong(
    call: Call,
    model: Model,
    translation: LongTranslation,
    json: WrittenJson,
  ): undefined {
    translations.set(call, translation);
    const headers = headersFor(json.head);
    const onThisThread = () => {
      const own = new Translation(call, model, services, seal, translation.to);
      const made = own.first();
      if (!made?.ok) throw new Error("a thread has translated the body, and this one cannot");
      return new TranslatedRequest(own, made.body, headers);
    };
    call.upstream = new LongRequest(translation, json, headers, onThisThread);
  }

  function wayOf(call: Call, model: Model): Way {
    const { protocol } = call.endpoint;
    const isAlone = speaksResponsesAlone(model, services);
    const other = isAlone ? "responses" : model.standard === "messages" ? "messages" : "chat";
    if (protocol === "responses") {
      const isNative = hasRoute(model, protocol, services.upstreams);
      return { byResponses: false, to: isNative ? undefined : other };
    }
    if (protocol !== "messages" && protocol !== "chat") return PASSED;
    const isTranslated = model.standard !== protocol || isAlone;
    return {
      byResponses: needsResponses(headToRead(call), model, services),
      to: isTranslated ? other : undefined,
    };
  }

  /** Passes on a request in the model's own protocol, with the edits that the model needs. */
  function passRequest(call: Call, model: Model): Verdict {
    const fitted = nativeRequest(call, model, services);
    if (isRefusal(fitted)) return fitted;
    const { request, dropped } = fitted;
    call.upstream = request;
    if (dropped.length > 0) call.replyHeaders.push(`${prefix}translate-dropped`, dropped.join(","));
    return undefined;
  }

  /** Makes the form of an image edit. Images that it names by address are fetched once money is held. */
  function editImages(call: Call): Verdict {
    const form = imageEditForm(call);
    if (isRefusal(form)) return form;
    const request = { ...unchangedRequest(call), body: call.body };
    const { imageFetcher } = services;
    const prepare = async (left: AbortSignal) => {
      const parts = await places.run(call.key?.accountId ?? "", left, (place) =>
        fetchImages(form, imageFetcher, place),
      );
      if (isRefusal(parts)) return parts;
      call.upstream = { ...request, form: parts };
      return undefined;
    };
    const parts = form.filter(
      (part): part is NonNullable<Call["form"]>[number] => !isAddress(part),
    );
    call.upstream = {
      ...request,
      form: parts,
      prepare: form.some(isAddress) ? prepare : undefined,
    };
    return undefined;
  }

  /** Names the dropped fields in a header. Headers of the client's protocol are dropped too. */
  function reportDropped(call: Call, translation: ReplyTranslation): void {
    const left = (FORWARDED_HEADERS[call.endpoint.protocol] ?? []).filter(
      (name) => name in call.headers,
    );
    const dropped = [...translation.dropped, ...left];
    if (dropped.length === 0) return;
    call.replyHeaders.push(`${prefix}translate-dropped`, dropped.join(","));
  }

  return {
    name: "translate",

    request(call): Verdict | Promise<Verdict> {
      const { endpoint, model } = call;
      if (!model) return undefined;
      if (endpoint.multipart) return editImages(call);
      const way = wayOf(call, model);
      const { byResponses, to } = way;
      if (isLong(call) && (byResponses || to !== undefined)) return sendLong(call, model, way);
      if (byResponses && goesByResponses(call, model)) return undefined;
      return to === undefined ? passRequest(call, model) : translateRequest(call, model, to);
    },

    stream(call, client) {
      const translation = translations.get(call);
      if (!translation) return client;
      const onReply = () => {
        reportDropped(call, translation);
        if (translation instanceof LongTranslation) translation.release();
      };
      const sink = new TranslatingSink(call, client, translation, services.clock, onReply);
      if (call.stream) pings.watch(sink);
      return sink;
    },

    async start() {
      const { admin, stores } = services.config;
      // All gateways of a service must be able to open each other's envelopes. They share this token.
      seal = StateSeal.of(admin.token ?? (await secretFile(join(stores.data, STATE_KEY_FILE))));
      pings.start();
    },

    async stop() {
      pings.stop();
    },
  };
}

/** How a request goes out. */
interface Way {
  /** True if Responses is tried first. */
  readonly byResponses: boolean;
  /** Undefined if the request is passed in its own protocol. */
  readonly to: Protocol | undefined;
}

const PASSED: Way = { byResponses: false, to: undefined };

function losesWhatIsPaid({ surcharge }: Call, { dropped }: ReplyTranslation): boolean {
  return surcharge !== undefined && dropped.length > 0;
}

function refusalOf(made: Translated<unknown, unknown> | undefined, model: Model): Refusal {
  if (!made || made.ok) {
    const message = `model: no provider serves ${model.id} at the moment`;
    return refuse.upstreamFailed(message, { param: "model" });
  }
  const { message, param, code } = made.reject;
  return refuse.badRequest(message, { param, code });
}

function headersFor(body: JsonObject): readonly string[] {
  const bindsThinking = objectOf(body["thinking"])?.["block_binding"] !== undefined;
  return bindsThinking ? ["anthropic-beta", BINDING_BETA] : [];
}
