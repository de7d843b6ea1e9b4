import { copyButton } from "../../page-parts/browser/copy.ts";
import { type Child, el } from "../../page-parts/browser/dom.ts";
import { t } from "./text.ts";

/** Options of a command by their names, or as bodies of requests spell them; empty ones are left out, and true is a flag. */
export type Options = Readonly<Record<string, string | number | boolean | undefined>>;

/** Returns a command as a shell takes it. */
export function commandText(words: string, options: Options = {}): string {
  const given = Object.entries(options).flatMap(([field, value]) => {
    if (value === undefined || value === "" || value === false) return [];
    const name = field.replaceAll("_", "-");
    return value === true ? [` --${name}`] : [` --${name} ${quoted(String(value))}`];
  });
  const { command = "" } = document.documentElement.dataset;
  return `${command} ${words}${given.join("")}`;
}

/** The command that does on a terminal what the page shows, and what stands beside it. */
export function commandLine(text: string, beside?: Child): HTMLElement {
  return el(
    "p",
    { class: "cli" },
    el("code", {}, text),
    copyButton(t("command.copy"), () => text),
    beside,
  );
}

/** Several commands, folded until someone looks for them. */
export function commandBlock(title: string, about: Child, text: string): HTMLElement {
  return el(
    "details",
    { class: "steps" },
    el("summary", {}, title),
    about,
    el("pre", {}, text),
    copyButton(t("command.copy"), () => text),
  );
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
