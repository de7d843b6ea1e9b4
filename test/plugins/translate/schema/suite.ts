import { readFileSync } from "node:fs";
import { join } from "node:path";
import { arrayOf, type JsonObject, objectOf, parseJson } from "../../../../core/process/json.ts";
import { packageRoot } from "../../../../core/process/root.ts";

const FOLDER = "plugins/translate/schema";

/** The schemas of JSON Schema's own tests, each as a property of a tool, with the references that lead there. */
export const SUITE = arrayOf(
  objectOf(parseJson(readFileSync(join(packageRoot, "test", FOLDER, "suite.json"), "utf8")))?.[
    "schemas"
  ],
).map((schema): JsonObject => {
  const a: unknown = JSON.parse(JSON.stringify(schema), (name, value: unknown) =>
    name === "$ref" && typeof value === "string"
      ? value.replace(/^#(?=\/|$)/, "#/properties/a")
      : value,
  );
  return { type: "object", properties: { a }, required: ["a"] };
});
