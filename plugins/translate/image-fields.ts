import {
  type Call,
  type Model,
  mergeProfiles,
  type Refusal,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";

/**
 * Leaves out the fields of an image call that a route of its model refuses. Returns the names of those that the client has
 * sent. Refuses a demand for addresses: such models give their images as base64 alone.
 */
export function withoutRefused(
  { body }: Pick<Call, "body">,
  model: Model,
  { upstreams }: Pick<Services, "upstreams">,
): readonly string[] | Refusal {
  const refused = model.routes.flatMap(
    ({ upstream, profile }) =>
      mergeProfiles(upstreams.get(upstream)?.config.profile, profile).refused_fields ?? [],
  );
  const left: string[] = [];
  for (const name of new Set(refused)) {
    const value = body.read(name);
    if (value === undefined) continue;
    if (name === "response_format" && value === "url") {
      const message = `response_format: ${model.id} gives images as base64 only; ask for b64_json`;
      return refuse.badRequest(message, { param: name, code: "unsupported_parameter" });
    }
    body.set(name, undefined);
    if (value !== null) left.push(name);
  }
  return left;
}
