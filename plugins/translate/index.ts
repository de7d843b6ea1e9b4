import { join } from "node:path";
import {
  type Call,
  hasRoute,
  isRefusal,
  type Model,
  mergeProfiles,
  objectOf,
  type Plugin,
  type Protocol,
  type Refusal,
  type RequestBody,
  refuse,
  type Services,
  type Sink,
  secretFile,
  unchangedRequest,
  type Verdict,
} from "../../core/plugin/index.ts";
import { readDialect } from "./chat/dialects.ts";
import { flatCustomTools } from "./chat/read/tools.ts";
import { FetchPlaces } from "./fetch-places.ts";
import { hideIdentity } from "./identity.ts";
import {
  type FormPart,
  fetchImages,
  imageEditBody,
  imageEditForm,
  isAddress,
} from "./image-edit.ts";
import { withoutRefused } from "./image-fields.ts";
import { nativeRequest } from "./native.ts";
import type { Translated } from "./notes.ts";
import { PROTOCOLS } from "./protocols.ts";
import { imageAddresses, putImagesIn, wantsBytes } from "./remote-images.ts";
import { MarkingSink } from "./state/organisation.ts";
import { StateSeal } from "./state/seal.ts";
import { needsCut, needsFunctions, needsSummary, organisationOf } from "./targets.ts";
import { needsResponses, speaksResponsesAlone } from "./tools-by-responses.ts";
import { TranslatingSink } from "./translating-sink.ts";
import { type Translation, translationOf } from "./translation.ts";

/** Name of the file in the data folder whose secret is used if the config has no admin token. */
const STATE_KEY_FILE = "state-key";
/** The beta without which the provider refuses `thinking.block_binding`. */
const BINDING_BETA = "thinking-binding-controls-2026-08-01";

/** It may ask for usage in the client's request. */
export const after = ["by-key"];
export const requires = ["model"];
export const sets = ["upstream"];
export const reads = ["headers", "admin"];

/**
 * Translates requests and replies between Messages, Chat Completions and Responses, if client and model differ. Edits
 * every request to the form that its model accepts.
 */
export default function translate(services: Services): Plugin {
  const { prefix } = services.config.headers;
  const translations = new WeakMap<Call, Translation>();
  const places = new FetchPlaces();
  /** Until the start has read the secret, no call is served. */
  let seal = StateSeal.of("");

  /**
   * Sends a translated request. A call with tools goes out as Responses if its model thinks with tools only there, unless
   * the request cannot be expressed there, or would lose a field that the call pays for: Chat takes it, without thinking.
   */
  async function send(call: Call, model: Model, { byResponses, to }: Way): Promise<Verdict> {
    for (const protocol of byResponses ? (["responses", to] as const) : [to]) {
      if (protocol === undefined) return passRequest(call, model);
      const translation = await translationOf(call, model, services, seal, protocol);
      if (isRefusal(translation)) return translation;
      const made = translation.first();
      const isLast = protocol === to;
      if (made?.ok && (isLast || !losesWhatIsPaid(call, translation))) {
        return use(call, translation, made.body);
      }
      if (isLast) return refusalOf(made, model);
    }
    return undefined;
  }

  function use(call: Call, translation: Translation, body: RequestBody): undefined {
    translations.set(call, translation);
    call.upstream = {
      protocol: translation.to,
      path: PROTOCOLS[translation.to]?.path ?? "",
      body,
      form: undefined,
      headers: headersFor(body),
      bodyFor: (route) => translation.bodyFor(route),
      sendsAgain: (status, text) => translation.sendsAgain(status, text),
      prepare: undefined,
      outputLimit: undefined,
      wantsUsage: false,
    };
  }

  function wayOf(call: Call, model: Model): Way {
    const { protocol } = call.endpoint;
    const isAlone = speaksResponsesAlone(model, services);
    const other = isAlone ? "responses" : model.standard === "messages" ? "messages" : "chat";
    if (protocol === "responses") {
      const isSpoken = hasRoute(model, protocol, services.upstreams);
      if (!isSpoken || needsSummary(call.body, model, services)) {
        return { byResponses: false, to: other };
      }
      const isNative = !needsFunctions(call.body, model, services);
      return { byResponses: false, to: isNative ? undefined : protocol };
    }
    if (PROTOCOLS[protocol] === undefined) return PASSED;
    const body = call.body.outline;
    const isTranslated =
      model.standard !== protocol ||
      isAlone ||
      needsCut(body, protocol, model, services) ||
      (protocol === "chat" && flatCustomTools(body).size > 0);
    return {
      byResponses: needsResponses(body, model, services),
      to: isTranslated ? other : undefined,
    };
  }

  function make(call: Call, model: Model): Verdict | Promise<Verdict> {
    const way = wayOf(call, model);
    const isTranslated = way.byResponses || way.to !== undefined;
    return isTranslated ? send(call, model, way) : passRequest(call, model);
  }

  /** Has the images of a conversation fetched once money is held, if it names any by address. */
  function fetchFirst(call: Call, model: Model): undefined {
    const { upstream } = call;
    const addresses = upstream ? imageAddresses(call.body) : [];
    if (!upstream || addresses.length === 0) return undefined;
    const headers = call.replyHeaders.length;
    const prepare = async (left: AbortSignal) => {
      const refusal = await places.run(call.key?.accountId ?? "", left, (place) =>
        putImagesIn(call.body, addresses, services.imageFetcher, place),
      );
      if (refusal) return refusal;
      // The hold has set these for the request without the images.
      const { outputLimit, wantsUsage } = call.upstream ?? upstream;
      const before = call.replyHeaders.splice(headers);
      const verdict = await make(call, model);
      call.replyHeaders.push(...before);
      if (call.upstream) Object.assign(call.upstream, { outputLimit, wantsUsage });
      return verdict;
    };
    call.upstream = { ...upstream, prepare };
    return undefined;
  }

  /** Passes on a request in the model's own protocol, with the edits that the model needs. */
  function passRequest(call: Call, model: Model): Verdict {
    const fitted = nativeRequest(call, model, services, seal);
    if (isRefusal(fitted)) return fitted;
    const { request, dropped } = fitted;
    call.upstream = request;
    nameDropped(call, dropped);
    return undefined;
  }

  function nameDropped(call: Call, dropped: readonly string[]): void {
    if (dropped.length > 0) call.replyHeaders.push(`${prefix}translate-dropped`, dropped.join(","));
  }

  /** Makes the form of an image edit. Images that it names by address are fetched once money is held. */
  function editImages(call: Call): Verdict {
    const form = imageEditForm(call);
    if (isRefusal(form)) return form;
    const request = unchangedRequest(call);
    const { imageFetcher, upstreams } = services;
    const requestWith = (form: readonly FormPart[]): typeof request => ({
      ...request,
      form,
      bodyFor({ upstream, profile }) {
        const { image_edits } = mergeProfiles(upstreams.get(upstream)?.config.profile, profile);
        return image_edits === "json" ? imageEditBody(call, form) : undefined;
      },
    });
    const prepare = async (left: AbortSignal) => {
      const parts = await places.run(call.key?.accountId ?? "", left, (place) =>
        fetchImages(form, imageFetcher, place),
      );
      if (isRefusal(parts)) return parts;
      call.upstream = requestWith(parts);
      return undefined;
    };
    const parts = form.filter((part): part is FormPart => !isAddress(part));
    call.upstream = { ...requestWith(parts), prepare: form.some(isAddress) ? prepare : undefined };
    return undefined;
  }

  /** Marks the encrypted reasoning of a reply that is passed on, if a route of the model states an organisation. */
  function marked(call: Call, client: Sink): Sink {
    if (call.upstream?.protocol !== "responses") return client;
    const isOwned = call.model?.routes.some((route) => organisationOf(route, services));
    if (!isOwned) return client;
    return new MarkingSink(call, client, (route) => route && organisationOf(route, services));
  }

  /** Names the dropped fields in a header. Headers of the client's protocol are dropped too. */
  function reportDropped(call: Call, translation: Translation): void {
    const { betaHeader } = call.endpoint;
    const isLeft = betaHeader !== undefined && betaHeader in call.headers;
    const dropped = isLeft ? [...translation.dropped, betaHeader] : translation.dropped;
    nameDropped(call, dropped);
  }

  return {
    name: "translate",

    request(call): Verdict | Promise<Verdict> {
      const { endpoint, model } = call;
      if (!model) return undefined;
      const refusal = endpoint.protocol === "chat" ? readDialect(call.body) : undefined;
      if (refusal) return refusal;
      hideIdentity(call, seal.key);
      if (endpoint.protocol === "images") {
        const left = withoutRefused(call, model, services);
        if (isRefusal(left)) return left;
        nameDropped(call, left);
      }
      if (endpoint.multipart) return editImages(call);
      const made = make(call, model);
      if (!wantsBytes(model, services)) return made;
      return made instanceof Promise
        ? made.then((verdict) => verdict ?? fetchFirst(call, model))
        : (made ?? fetchFirst(call, model));
    },

    stream(call, client) {
      const translation = translations.get(call);
      if (!translation) return marked(call, client);
      const onReply = () => {
        reportDropped(call, translation);
        translation.release();
      };
      return new TranslatingSink(call, client, translation, onReply);
    },

    async start() {
      const { admin, stores } = services.config;
      // All gateways of a service must be able to open each other's envelopes. They share this token.
      seal = StateSeal.of(admin.token ?? (await secretFile(join(stores.data, STATE_KEY_FILE))));
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

function losesWhatIsPaid({ surcharge }: Call, { dropped }: Translation): boolean {
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

function headersFor(body: RequestBody): readonly string[] {
  const bindsThinking = objectOf(body.read("thinking"))?.["block_binding"] !== undefined;
  return bindsThinking ? ["anthropic-beta", BINDING_BETA] : [];
}
