import type { Config, Fault } from "../../core/plugin/index.ts";
import { familiesOf } from "./families.ts";
import type { Settings } from "./options.ts";

/** Reports aliases that can never serve a call: the model does not exist, or a model has the same name. */
export function review(settings: Settings, { catalogue }: Config): readonly Fault[] {
  const faults: Fault[] = [];
  const { ids, defaultName } = familiesOf(settings, catalogue);
  const byLowerCase = new Map<string, string>();
  for (const [family, id] of ids) {
    const path = ["families", family];
    const other = byLowerCase.get(family.toLowerCase());
    if (other !== undefined)
      faults.push({ path, message: `expected each name once; ${other} is the same name` });
    byLowerCase.set(family.toLowerCase(), family);
    const model = catalogue.get(id);
    if (!model && !catalogue.withholds(id))
      faults.push({ path, message: "expected a model of the catalogue", quoted: true });
    if (catalogue.get(family)) {
      const message =
        "expected a name that is not a model id, since the model would always be used instead";
      faults.push({ path, message });
    }
    const isChat = model?.standard === "messages" || model?.standard === "chat";
    if (family === defaultName && model && !isChat) {
      const message = "expected a chat model, since the default family serves names of chat models";
      faults.push({ path, message });
    }
  }
  if (defaultName !== undefined && !ids.has(defaultName)) {
    const known = [...ids.keys()].join(", ") || "none; set families, since the catalogue has none";
    const message = `expected one of the families (${known})`;
    faults.push({ path: ["default_family"], message, quoted: true });
  }
  return faults;
}
