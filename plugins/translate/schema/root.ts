import { isObject, type JsonObject } from "../../../core/plugin/index.ts";

/** Adds the `type: "object"` and `properties` that Chat servers require of tool parameters. */
export function asParameters(schema: JsonObject | undefined): JsonObject {
  const typed = withObjectType(schema ?? {});
  return isObject(typed["properties"]) ? typed : { ...typed, properties: {} };
}

/** Adds `type: "object"` if the schema has no type. */
export function withObjectType(schema: JsonObject): JsonObject {
  return schema["type"] === undefined || schema["type"] === null
    ? { ...schema, type: "object" }
    : schema;
}
