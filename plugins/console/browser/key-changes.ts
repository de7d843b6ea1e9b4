import { el } from "../../page-parts/browser/dom.ts";
import { limitFields } from "../../page-parts/browser/key-limits.ts";
import { openChange, optionalReason } from "./change.ts";
import type { Key } from "./contract.ts";
import { t } from "./text.ts";

type Done = () => Promise<void>;

/** Sets the limits that the key's owner sees and can change too. */
export function openLimits(key: Key, done: Done): void {
  const { element: about, changed } = limitFields(key.limits);
  const reason = optionalReason();
  openChange({
    title: `${t("keys.limits")}: ${key.name}`,
    about,
    fields: [reason],
    path: `/keys/${key.id}/limits`,
    command: "key restrict",
    of: { key: key.id },
    given: () => ({
      ...Object.fromEntries(
        Object.entries(changed()).map(([name, value]) => [name, String(value ?? "") || "none"]),
      ),
      reason: reason.input.value,
    }),
    body() {
      const limits = changed();
      return Object.keys(limits).length > 0 ? { ...limits, reason: reason.input.value } : undefined;
    },
    action: t("keys.limits.save"),
    done,
  });
}

/** Refuses the calls of a key until it is resumed; or resumes it. */
export function openPause(key: Key, done: Done): void {
  const paused = key.limits.paused !== true;
  const words = paused ? "pause" : "resume";
  const reason = optionalReason();
  openChange({
    title: `${t(`key.${words}`)}: ${key.name}`,
    about: el("p", {}, t(`key.${words}.about`)),
    fields: [reason],
    path: `/keys/${key.id}/limits`,
    command: `key ${words}`,
    of: { key: key.id },
    given: () => ({ reason: reason.input.value }),
    body: () => ({ paused, reason: reason.input.value }),
    action: t(`key.${words}`),
    isDangerous: paused,
    done,
  });
}

export function openRevoke(key: Key, done: Done): void {
  openChange({
    title: t("keys.revoke"),
    about: el("p", {}, t("key.revoke.about", { name: key.name, prefix: key.prefix })),
    fields: [],
    path: `/keys/${key.id}/revoke`,
    command: "key revoke",
    of: { key: key.id },
    isDangerous: true,
    done,
  });
}
