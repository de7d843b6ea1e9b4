import type { FormPart } from "../body/form.ts";
import type { RequestBody } from "../body/request-body.ts";
import type { Model } from "../catalogue/catalogue.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { Call, UpstreamRequest } from "./call.ts";

/** Returns the unchanged request, for an upstream that speaks the endpoint's protocol. */
export function unchangedRequest({ endpoint, body, betaHeaders }: Call): UpstreamRequest {
  return {
    protocol: endpoint.protocol,
    path: endpoint.upstreamPath,
    body,
    form: undefined,
    headers: betaHeaders,
    bodyFor: undefined,
    prepare: undefined,
    outputLimit: undefined,
    wantsUsage: false,
  };
}

/** Converts the fields of a body to form fields. Core adds the model. */
export function formFields(
  { outline }: RequestBody,
  isLeftOut: (name: string) => boolean = () => false,
): FormPart[] {
  const fields: FormPart[] = [];
  for (const [name, value] of Object.entries(outline)) {
    if (name === "model" || value == null || isLeftOut(name)) continue;
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    fields.push({ name, data: Buffer.from(text) });
  }
  return fields;
}

/** Maximum number of models that a refusal names: more make it hard to read. */
const MODELS_NAMED_MAX = 8;

/**
 * Refuses a model that does not take the endpoint's protocol, and names the path that serves it, and the model if the
 * caller sent another name. `here`: models that this endpoint serves, for clients that speak no other protocol.
 */
export function servedElsewhere(
  call: Call,
  model: Model,
  instead: string,
  here: readonly string[] = [],
): Refusal {
  const sent = call.mappedFrom === null ? model.id : `${call.mappedFrom} (${model.id})`;
  const named = here.slice(0, MODELS_NAMED_MAX).join(", ");
  const more = here.length > MODELS_NAMED_MAX ? ", …" : "";
  const either = named === "" ? "" : `one of ${named}${more} here, or `;
  const message = `model: ${sent} is not served on ${call.endpoint.path}: use ${either}${instead}`;
  return refuse.badRequest(message, "model");
}
