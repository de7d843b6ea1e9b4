import { join } from "node:path";
import {
  bodyToRead,
  type Call,
  type ConfigKey,
  type Field,
  FORWARDED_HEADERS,
  type FormPart,
  hasRoute,
  isRefusal,
  type JsonObject,
  type Model,
  objectOf,
  type Plugin,
  refuse,
  type Services,
  secretFile,
  unchangedRequest,
  type Verdict,
  v,
} from "../../core/contract/index.ts";
import { FetchPlaces } from "./fetch-places.ts";
import { fetchImages, imageEditForm, isAddress } from "./image-edit.ts";
import { KeepAlivePings } from "./keep-alive-pings.ts";
import { nativeRequest } from "./native.ts";
import { StateSeal } from "./state/seal.ts";
import { needsResponses, speaksResponsesAlone } from "./tools-by-responses.ts";
import { TranslatedRequest } from "./translated-request.ts";
import { TranslatingSink } from "./translating-sink.ts";
import { Translation } from "./translation.ts";

const IMAGE_BYTES_MAX = 20 * 1_048_576;
/** Name of the file in the data folder whose secret is used if the config has no admin token. */
const STATE_KEY_FILE = "state-key";
/** The beta without which the provider refuses `thinking.block_binding`. */
const BINDING_BETA = "thinking-binding-controls-2026-08-01";

export const options = v.strictObject({
  /** Allows downloads of images from private networks. For tests and closed networks. */
  fetch_private_images: v.optional(v.boolean("true or false"), false),
});

export const requires: readonly Field[] = ["model"];
export const sets: readonly Field[] = ["upstream"];
export const reads: readonly ConfigKey[] = ["headers"];

/**
 * Translates requests and replies between Messages and Chat Completions, and from Responses to both, if client and
 * model differ. Edits every request to the form that its model accepts.
 */
export default function translate(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const fetcher = services.imageFetcher({
    anyAddress: settings.fetch_private_images,
    bytesMax: IMAGE_BYTES_MAX,
  });
  const { prefix } = services.config.headers;
  const translations = new WeakMap<Call, Translation>();
  const pings = new KeepAlivePings();
  const places = new FetchPlaces();
  /** Until the start has read the secret, no call is served. */
  let seal = new StateSeal("");

  function translateRequest(call: Call, model: Model): Verdict {
    const only = speaksResponsesAlone(model, services) ? "responses" : undefined;
    const translation = new Translation(call, model, services, seal, only);
    return use(call, model, translation, translation.first());
  }

  /**
   * Sends a call with tools out as Responses if its model thinks with tools only there. Returns false
   * if the request cannot be expressed there, or would lose a field that the call pays for: Chat takes it, without
   * thinking.
   */
  function goesByResponses(call: Call, model: Model): boolean {
    if (!needsResponses(bodyToRead(call), model, services)) return false;
    const translation = new Translation(call, model, services, seal, "responses");
    const made = translation.first();
    if (!made?.ok || (call.surcharge && translation.dropped.length > 0)) return false;
    use(call, model, translation, made);
    return true;
  }

  function use(
    call: Call,
    model: Model,
    translation: Translation,
    made: ReturnType<Translation["first"]>,
  ): Verdict {
    if (!made) {
      const message = `model: no provider serves ${model.id} at the moment`;
      return refuse.upstreamFailed(message, { param: "model" });
    }
    if (!made.ok) {
      const { message, param, code } = made.reject;
      return refuse.badRequest(message, { param, code });
    }
    translations.set(call, translation);
    const headers = bindsThinking(made.body) ? ["anthropic-beta", BINDING_BETA] : [];
    call.upstream = new TranslatedRequest(translation, made.body, headers);
    return undefined;
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
    const fetch = () => fetchImages(form, fetcher, () => call.gone);
    const prepare = async () => {
      const parts = await places.run(call.key?.accountId ?? "", fetch);
      if (isRefusal(parts)) return parts;
      call.upstream = { ...request, form: parts };
      return undefined;
    };
    const parts = form.filter((part): part is FormPart => !isAddress(part));
    call.upstream = {
      ...request,
      form: parts,
      prepare: form.some(isAddress) ? prepare : undefined,
    };
    return undefined;
  }

  /** Names the dropped fields in a header. Headers of the client's protocol are dropped too. */
  function reportDropped(call: Call, translation: Translation): void {
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
      const { protocol } = endpoint;
      if (endpoint.multipart) return editImages(call);
      if (protocol === "responses") {
        const isNative = hasRoute(model, protocol, services.upstreams);
        return isNative ? passRequest(call, model) : translateRequest(call, model);
      }
      const isChat = protocol === "messages" || protocol === "chat";
      if (isChat && goesByResponses(call, model)) return undefined;
      if (isChat && (model.standard !== protocol || speaksResponsesAlone(model, services))) {
        return translateRequest(call, model);
      }
      return passRequest(call, model);
    },

    stream(call, client) {
      const translation = translations.get(call);
      if (!translation) return client;
      const onReply = () => reportDropped(call, translation);
      const sink = new TranslatingSink(call, client, translation, services.clock, onReply);
      if (call.stream) pings.watch(sink);
      return sink;
    },

    async start() {
      const { admin, stores } = services.config;
      // All gateways of a service must be able to open each other's envelopes. They share this token.
      seal = new StateSeal(admin.token ?? (await secretFile(join(stores.data, STATE_KEY_FILE))));
      pings.start();
    },

    async stop() {
      pings.stop();
      await fetcher.close();
    },
  };
}

function bindsThinking(body: JsonObject): boolean {
  return objectOf(body["thinking"])?.["block_binding"] !== undefined;
}
