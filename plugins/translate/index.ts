import * as v from "valibot";
import type { Call, UpstreamRequest } from "../../core/call.ts";
import type { Model } from "../../core/catalogue.ts";
import type { Plugin, Verdict } from "../../core/plugin.ts";
import { invalidRequest } from "../../core/refusal.ts";
import type { Services } from "../../core/services.ts";
import { ImageFetcher } from "../../core/upstream/fetch-image.ts";
import type { Protocol } from "../../core/wire/wire.ts";
import { imageEditForm } from "./image-edit.ts";

const IMAGE_BYTES_MAX = 20 * 1_048_576;

export const options = v.strictObject({
  /** Whether images named by address may be fetched from private networks too; for tests and closed sites. */
  fetch_private_images: v.optional(v.boolean("true or false"), false),
});

/** Client headers that say something about the request itself, by protocol. */
const FORWARDED: Readonly<Partial<Record<Protocol, readonly string[]>>> = {
  messages: ["anthropic-beta"],
  chat: ["openai-beta"],
  responses: ["openai-beta"],
};

/** Decides which protocol the model is asked in, and puts the request into it; sets `call.upstream`. */
export default function translate(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const fetcher = new ImageFetcher({
    anyAddress: settings.fetch_private_images,
    bytesMax: IMAGE_BYTES_MAX,
  });

  function served(model: Model, protocol: Protocol): boolean {
    return model.routes.some((route) => services.upstreams.get(route.upstream)?.base(protocol));
  }

  return {
    name: "translate",
    stop: () => fetcher.close(),

    request(call): Verdict | Promise<Verdict> {
      const { endpoint, model } = call;
      if (!model) return undefined;
      const { protocol } = endpoint;
      if (protocol === "responses" && !served(model, protocol)) {
        const message = `model: ${model.id} is not served on /v1/responses: use /v1/chat/completions`;
        return invalidRequest(message, "model");
      }
      if (endpoint.multipart) {
        return imageEditForm(call, fetcher).then((form) => {
          if (!Array.isArray(form)) return form;
          call.upstream = request(call, protocol);
          call.upstream.form = form;
          return undefined;
        });
      }
      const isChat = protocol === "messages" || protocol === "chat";
      if (isChat && model.standard !== protocol) {
        return invalidRequest(`model: ${model.id} is served on ${model.standard} only`, "model");
      }
      call.upstream = request(call, protocol);
      return undefined;
    },
  };
}

/** The request as it came: same-protocol calls are not changed. */
function request(call: Call, protocol: Protocol): UpstreamRequest {
  const headers: string[] = [];
  for (const name of FORWARDED[protocol] ?? []) {
    const value = call.headers[name];
    if (value !== undefined) headers.push(name, value);
  }
  return { protocol, path: call.endpoint.upstreamPath, body: call.body, form: undefined, headers };
}
