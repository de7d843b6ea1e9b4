import { readdir } from "node:fs/promises";
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { features } from "../catalogue/features.ts";
import type { PluginModule } from "../plugin/plugin.ts";
import { isObject, type JsonObject, objectOf } from "../process/json.ts";
import { upstreamKinds } from "../upstream/kinds/index.ts";
import { catalogueFile } from "./catalogue-file.ts";
import { BUILT_IN } from "./plugin-files.ts";
import { importBuiltIn } from "./plugins.ts";
import { gatewayFile } from "./schema.ts";
import { upstreamsForEditors } from "./upstream-schema.ts";

/**
 * Builds the JSON schema that editors use to check and complete the YAML files, from the definitions that the
 * gateway itself uses. One schema serves all files: one with `models` is a catalogue, and a file of a plugin has the key
 * that the plugin names.
 */
export async function configJsonSchema(): Promise<JsonObject> {
  const plugins = await builtInPlugins();
  const files = [...plugins.values()].flatMap(({ files = {} }) => Object.entries(files));
  const brought = [...plugins.values()].flatMap(({ upstreamKind }) => upstreamKind ?? []);
  const upstreams = upstreamsForEditors([...upstreamKinds, ...brought]);
  const gateway = convert(gatewayFile(upstreams), "throw");
  const properties = gateway["properties"];
  if (isObject(properties) && isObject(properties["plugins"])) {
    properties["plugins"]["items"] = pluginItems(plugins);
  }
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    if: { required: ["models"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON schema.
    then: { $ref: "#/definitions/catalogue" },
    else: files.reduceRight<JsonObject>(
      (others, [name]) => ({
        if: { required: [name] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON schema.
        then: { $ref: `#/definitions/${name}` },
        else: others,
      }),
      { $ref: "#/definitions/gateway" },
    ),
    definitions: {
      catalogue: convert(catalogueFile, "throw"),
      gateway,
      ...Object.fromEntries(files.map(([name, schema]) => [name, convert(schema, "throw")])),
      features: objectOf(orVariable(plain(features, "throw"), false)) ?? {},
      variable: {
        type: "string",
        pattern: "\\$\\{([A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?|file:/[^}]+)\\}",
      },
    },
  };
}

async function builtInPlugins(): Promise<ReadonlyMap<string, PluginModule>> {
  const plugins = new Map<string, PluginModule>();
  const entries = await readdir(BUILT_IN, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  for (const name of folders.sort()) {
    const module = await importBuiltIn(name);
    if (module) plugins.set(name, module);
  }
  return plugins;
}

/** Schema of an entry of `plugins`: a built-in plugin with its options, or any other name. */
function pluginItems(plugins: ReadonlyMap<string, PluginModule>): JsonObject {
  // JSON schema cannot express every check of a plugin's options; the gateway runs the rest.
  const options = Array.from(plugins, ([name, module]) => {
    return [name, module.options ? convert(module.options, "ignore") : { type: "null" }] as const;
  });
  return {
    anyOf: [
      { enum: [...plugins.keys()] },
      { type: "string" },
      {
        type: "object",
        properties: Object.fromEntries(options),
        minProperties: 1,
        maxProperties: 1,
      },
    ],
  };
}

function convert(schema: v.GenericSchema, errorMode: "throw" | "ignore"): JsonObject {
  return objectOf(orVariable(plain(schema, errorMode))) ?? {};
}

function plain(schema: v.GenericSchema, errorMode: "throw" | "ignore"): JsonObject {
  const { $schema, ...converted } = toJsonSchema(schema, {
    errorMode,
    ignoreActions: ["check", "raw_check"],
    typeMode: "input",
  });
  return converted;
}

/** The JSON schema of features. Upstreams, models and routes share it, and refer to it because it is long. */
const FEATURES = JSON.stringify(plain(features, "throw"));

/**
 * Adds `${NAME}` as a valid form of each number, choice and text with a pattern, so that editors accept environment
 * variables there.
 */
function orVariable(node: unknown, refers = true): unknown {
  if (Array.isArray(node)) return node.map((entry) => orVariable(entry));
  if (!isObject(node)) return node;
  const { description, default: fallback, ...form } = node;
  const notes = {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
  };
  if (refers && JSON.stringify(form) === FEATURES) {
    return { ...notes, allOf: [{ $ref: "#/definitions/features" }] };
  }
  if (isConstrainedScalar(form)) {
    return { ...notes, anyOf: [form, { $ref: "#/definitions/variable" }] };
  }
  const walked = Object.entries(form).map(([key, value]) => {
    if (key !== "properties") return [key, OF_SCHEMAS.has(key) ? orVariable(value) : value];
    const fields = Object.entries(objectOf(value) ?? {});
    return [key, Object.fromEntries(fields.map(([name, one]) => [name, orVariable(one)]))];
  });
  return { ...notes, ...Object.fromEntries(walked) };
}

/** Keywords whose values are schemas. */
const OF_SCHEMAS = new Set(["items", "anyOf", "additionalProperties"]);

function isConstrainedScalar(form: JsonObject): boolean {
  const type = form["type"];
  if (type === "number" || type === "integer" || type === "boolean") return true;
  return "enum" in form || "const" in form || "pattern" in form;
}
