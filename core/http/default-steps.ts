import type { Model } from "../catalogue/catalogue.ts";
import { type Endpoint, endpoints, PROTOCOLS, type Protocol } from "../catalogue/endpoint.ts";
import type { Call } from "../plugin/call.ts";
import { exactNames, hasRoute } from "../plugin/model-names.ts";
import type { ConfigWithPlugins, Field, LoadedPlugin, Plugin } from "../plugin/plugin.ts";
import type { Services } from "../plugin/services.ts";
import { formFields, servedElsewhere, unchangedRequest } from "../plugin/upstream-request.ts";
import { isRefusal, refuse } from "../wire/refusal.ts";
import { offeredFeatures } from "./offered-features.ts";

interface Stated {
  readonly loaded: LoadedPlugin;
  readonly plugin: Plugin;
}

type Parts = Pick<Services, "catalogue" | "upstreams" | "config" | "log">;

/**
 * Adds core's own steps to the plugins of a config. If no plugin sets `model`, core resolves ids of the catalogue. If
 * none sets `upstream`, core sends the request unchanged. A step goes before the first plugin that needs what it sets,
 * or else last. The step that refuses what is not offered goes before the one that sets `upstream`, whatever the config
 * says.
 */
export function withDefaultSteps(stated: readonly Stated[], services: Parts): Plugin[] {
  const setsModel = stated.some(({ loaded }) => loaded.module.sets?.includes("model"));
  const setsUpstream = stated.some(({ loaded }) => loaded.module.sets?.includes("upstream"));
  const plugins: Plugin[] = [];
  let needsModel = !setsModel;
  let needsUpstream = !setsUpstream;
  const addFor = (requires: readonly Field[]) => {
    if (needsModel && requires.some((field) => BEHIND_MODEL.has(field))) {
      plugins.push(exactModel(services));
      needsModel = false;
    }
    if (needsUpstream && requires.some((field) => BEHIND_UPSTREAM.has(field))) {
      plugins.push(offeredFeatures(services), sameProtocol(services));
      needsUpstream = false;
    }
  };
  for (const { loaded, plugin } of stated) {
    addFor(loaded.module.requires ?? []);
    if (loaded.module.sets?.includes("upstream")) plugins.push(offeredFeatures(services));
    plugins.push(plugin);
  }
  addFor(["model", "upstream"]);
  return plugins;
}

const BEHIND_UPSTREAM: ReadonlySet<Field> = new Set(["upstream", "usage", "hold"]);
const BEHIND_MODEL: ReadonlySet<Field> = new Set([...BEHIND_UPSTREAM, "model"]);

/**
 * Returns the fields that must be set before a call goes upstream. If a plugin states that it sets one and does not,
 * that is a bug.
 */
export function requiredFields({ unbilled, plugins }: ConfigWithPlugins): Field[] {
  const knowsCallers = plugins.some(({ module }) => module.sets?.includes("key"));
  const fields: Field[] = ["model", "upstream"];
  if (!unbilled) fields.push("usage", "hold");
  if (!unbilled || knowsCallers) fields.unshift("key");
  return fields;
}

/**
 * Returns the first required field that no plugin has set. The config was checked to have a plugin for each, so this is
 * a bug of a plugin. Without this check, the call would be served and not charged.
 */
export function missingFor(call: Call, required: readonly Field[]): Field | undefined {
  for (const field of required) {
    if ((field === "hold" ? call.held : call[field]) === undefined) return field;
  }
  return undefined;
}

/** Instead of `alias`: resolves only ids of the catalogue. */
function exactModel(services: Parts): Plugin {
  const names = exactNames(() => services.catalogue);
  return {
    name: "core: exact names",
    request(call) {
      const named = names.resolve(call.body.read("model"), call.endpoint, call.key);
      if (isRefusal(named)) return named;
      call.model = named.model;
      return undefined;
    },
  };
}

/** Instead of `translate`: serves only models that speak the endpoint's protocol. */
function sameProtocol(services: Parts): Plugin {
  return {
    name: "core: same protocol",
    request(call) {
      const { model, endpoint, form } = call;
      if (!model) return undefined;
      const { protocol } = endpoint;
      if (!speaks(model, protocol, services)) {
        const spoken = speaks(model, model.standard, services) ? model.standard : "responses";
        return servedElsewhere(call, model, pathOf(spoken), servedHere(endpoint, services));
      }
      if (endpoint.multipart && !form) {
        return refuse.badRequest("image: send the request as multipart/form-data", "image");
      }
      const request = unchangedRequest(call);
      call.upstream = form ? { ...request, form: [...form, ...formFields(call.body)] } : request;
      return undefined;
    },
  };
}

/** A chat model speaks its own standard. It speaks Responses only if the config of one of its upstreams says so. */
function speaks(model: Model, protocol: Protocol, { upstreams }: Parts): boolean {
  if (protocol === "chat" && !hasRoute(model, protocol, upstreams)) return false;
  return PROTOCOLS[protocol].isStandard
    ? model.standard === protocol
    : hasRoute(model, protocol, upstreams);
}

/** The models of an endpoint whose clients speak no other protocol: only these work for them. */
function servedHere({ protocol, isStandard, serves }: Endpoint, services: Parts): string[] {
  if (isStandard) return [];
  return services.catalogue.models
    .filter((model) => serves.includes(model.standard) && speaks(model, protocol, services))
    .map(({ id }) => id);
}

function pathOf(protocol: Protocol): string {
  return endpoints.find((one) => one.protocol === protocol)?.path ?? "";
}
