import {
  type Endpoint,
  isRefusal,
  type Model,
  type NamedModel,
  type Plugin,
  type Refusal,
  refuse,
  type Services,
  text,
  unknownModel,
  v,
} from "../../core/contract/index.ts";
import { imagesIn } from "./vision.ts";

const MODEL_CHARACTERS_MAX = 256;

export const options = v.strictObject({
  /** Family whose top model serves names that nothing else serves. */
  default_family: text("the name of one of the families"),
  /** Short names of families, and the model that each stands for. */
  families: v.record(v.string(), text("the id of a model in the catalogue")),
  /** `top`: unknown names of chat models go to the default family; `refuse`: they are answered with 404. */
  unknown: v.optional(v.picklist(["top", "refuse"], "one of top, refuse"), "top"),
});

/** Turns the name that a caller sent into a model of the catalogue; refuses what it cannot be used for here. */
export default function alias(services: Services, settings: v.InferOutput<typeof options>): Plugin {
  const { prefix } = services.config.headers;
  const { modelNames } = services;
  const before = modelNames.resolve;

  function modelOf(name: string, endpoint: Endpoint): Model | Refusal {
    const { catalogue } = services;
    const known = catalogue.get(name) ?? catalogue.get(settings.families[name] ?? "");
    if (known) return known;
    const isChat = endpoint.serves.includes("chat");
    if (isChat && settings.unknown === "top") {
      const top = catalogue.get(settings.families[settings.default_family] ?? "");
      if (top) return top;
    }
    return unknownModel();
  }

  function resolve(name: unknown, endpoint: Endpoint): NamedModel | Refusal {
    if (typeof name !== "string" || name === "" || name.length > MODEL_CHARACTERS_MAX) {
      return refuse.badRequest("model: the name of a model is required", "model");
    }
    const model = modelOf(name, endpoint);
    if (isRefusal(model)) return model;
    if (!endpoint.serves.includes(model.standard)) {
      return refuse.badRequest(`model: ${model.id} ${whereToGo(model)}`, "model");
    }
    const headers = [`${prefix}model`, model.id];
    if (model.id !== name) headers.push(`${prefix}model-mapped-from`, printable(name));
    return { model, headers };
  }

  return {
    name: "alias",

    async start() {
      modelNames.resolve = resolve;
    },

    async stop() {
      // By then a reload may have put another in its place; one that failed has this one go before it served.
      if (modelNames.resolve === resolve) modelNames.resolve = before;
    },

    request(call) {
      const named = resolve(call.body["model"], call.endpoint);
      if (isRefusal(named)) return named;
      const { model, headers } = named;
      if (call.stream && model.standard !== "speech" && !model.labels.has("streaming")) {
        return refuse.badRequest(`stream: ${model.id} cannot be streamed`, "stream");
      }
      const images = imagesIn(call.body, call.endpoint.protocol);
      if (images !== "none") {
        const param = call.endpoint.protocol === "responses" ? "input" : "messages";
        if (!model.labels.has("vision")) {
          const message = `${model.id} cannot read images: choose a model labelled vision`;
          return refuse.badRequest(message, param);
        }
        if (images === "unreadable") {
          return refuse.badRequest(`${param}: images must be PNG, JPEG, WebP or GIF`, param);
        }
      }
      call.model = model;
      for (const part of headers) call.replyHeaders.push(part);
      if (model.id !== call.body["model"]) call.mappedFrom = String(call.body["model"]);
      return undefined;
    },
  };
}

function whereToGo(model: Model): string {
  switch (model.standard) {
    case "images":
      return "makes images: use /v1/images/generations or /v1/images/edits";
    case "speech":
      return "speaks text: use /v1/audio/speech";
    default:
      return "is a chat model: use /v1/messages or /v1/chat/completions";
  }
}

/** A header carries printable ASCII only; the rest of a name is shown percent-encoded. */
function printable(name: string): string {
  return /^[\x21-\x7e]*$/.test(name) ? name : encodeURIComponent(Buffer.from(name).toString());
}
