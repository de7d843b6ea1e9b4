import { matching, named, text, v } from "../../core/plugin/index.ts";

export const options = v.strictObject({
  /** Family whose model serves unknown names. Default: `opus` if there is one, else the first. */
  default_family: v.optional(text("the name of one of the families")),
  /** Model id by family name. Default: the newest model of each family in the catalogue. */
  families: v.optional(
    named(
      text("the id of a model in the catalogue"),
      matching(/^\S+$/, "a name without spaces"),
      "a mapping of names to models",
    ),
  ),
  /** What happens to unknown names on chat endpoints. `top`: the default family serves them; `refuse`: they get 404. */
  unknown: v.optional(v.picklist(["top", "refuse"], "one of top, refuse"), "top"),
  /** Serves a dated snapshot or another case of a model's id by that model, also with a dot in its version. `top`: as any unknown name. */
  dated_names: v.optional(v.picklist(["resolve", "top"], "one of resolve, top"), "top"),
  /** Serves a model's id with a provider in front by that model, also with a dot in its version. `keep`: as any unknown name. */
  prefixes: v.optional(v.picklist(["strip", "keep"], "one of strip, keep"), "keep"),
});

export type Settings = v.InferOutput<typeof options>;
