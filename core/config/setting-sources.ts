import type { SettingSource } from "../plugin/config.ts";
import { isObject } from "../process/json.ts";
import { referencesIn } from "./environment.ts";
import type { Path } from "./problem.ts";
import type { Source } from "./source.ts";

/**
 * Lists the settings of a config that are texts and not empty, with the variables and files that each comes from. Has no
 * value of any setting.
 */
export function settingSources(source: Source): SettingSource[] {
  const found: SettingSource[] = [];
  const visit = (value: unknown, path: Path): void => {
    if (typeof value === "string") {
      if (value !== "") {
        // A plugin's place in the list says nothing to a reader.
        const setting = path.join(".").replace(/^plugins\.\d+\./, "");
        found.push({ setting, from: referencesIn(source.writtenAt(path)) });
      }
    } else if (Array.isArray(value)) {
      for (const [at, one] of value.entries()) visit(one, [...path, at]);
    } else if (isObject(value)) {
      for (const [name, one] of Object.entries(value)) visit(one, [...path, name]);
    }
  };
  visit(source.value, []);
  return found;
}
