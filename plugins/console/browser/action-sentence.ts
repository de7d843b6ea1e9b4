import { type Child, el } from "../../page-parts/browser/dom.ts";
import { textIfAny } from "../../page-parts/browser/text.ts";
import type { Action } from "./contract.ts";

/** Says what was done: in words if the action is a usual one, then with what was sent. */
export function sentence({ action, details }: Action): Child {
  const path = action.replace(/^\w+ \/admin\/v1\//, "").replace(/:\w+\//g, "");
  const words = textIfAny(`audit.${path.replaceAll("/", ".")}`) ?? action;
  const { account: _, confirm_above_vnd: __, ...sent } = details;
  const rest = Object.entries(sent).map(([name, value]) => `${name}: ${String(value)}`);
  return [words, " ", el("small", { class: "hint" }, rest.join(", "))];
}
