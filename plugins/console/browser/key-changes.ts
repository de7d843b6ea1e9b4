import { el } from "../../page-parts/browser/dom.ts";
import { field } from "../../page-parts/browser/form.ts";
import { limitFields } from "../../page-parts/browser/key-limits.ts";
import { openChange } from "./change.ts";
import { commandText } from "./command-line.ts";
import type { Key } from "./contract.ts";
import { t } from "./text.ts";

type Done = () => Promise<void>;

/** Sets the limits that the key's owner sees and can change too. */
export function openLimits(key: Key, done: Done): void {
  const { element: about, changed } = limitFields(key.limits);
  const reason = reasonField();
  openChange({
    title: `${t("key.limits")}: ${key.name}`,
    about,
    fields: [reason],
    request() {
      const limits = changed();
      const body = { ...limits, ...reasonOf(reason.input) };
      return Object.keys(limits).length > 0 ? { path: `/keys/${key.id}/limits`, body } : undefined;
    },
    command: () =>
      commandText("key restrict", {
        key: key.id,
        ...Object.fromEntries(
          Object.entries(changed()).map(([name, value]) => [
            name.replaceAll("_", "-"),
            String(value ?? "") === "" ? "none" : String(value),
          ]),
        ),
        ...reasonOf(reason.input),
      }),
    action: t("key.limits.save"),
    done,
  });
}

/** Refuses the calls of a key until it is resumed; or resumes it. */
export function openPause(key: Key, done: Done): void {
  const paused = key.limits.paused !== true;
  const words = paused ? "pause" : "resume";
  const reason = reasonField();
  openChange({
    title: `${t(`key.${words}`)}: ${key.name}`,
    about: el("p", {}, t(`key.${words}.about`)),
    fields: [reason],
    request: () => ({
      path: `/keys/${key.id}/limits`,
      body: { paused, ...reasonOf(reason.input) },
    }),
    command: () => commandText(`key ${words}`, { key: key.id, ...reasonOf(reason.input) }),
    action: t(`key.${words}`),
    isDangerous: paused,
    done,
  });
}

export function openRevoke(key: Key, done: Done): void {
  openChange({
    title: t("key.revoke"),
    about: el("p", {}, t("key.revoke.about", { name: key.name, prefix: key.prefix })),
    fields: [],
    request: () => ({ path: `/keys/${key.id}/revoke`, body: {} }),
    command: () => commandText("key revoke", { key: key.id }),
    action: t("key.revoke"),
    isDangerous: true,
    done,
  });
}

function reasonField() {
  return field(t("reason"), { maxlength: 500 });
}

function reasonOf({ value }: HTMLInputElement): { readonly reason?: string } {
  return value === "" ? {} : { reason: value };
}
