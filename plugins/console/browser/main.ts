import { mountAnnouncements } from "../../page-parts/browser/announce.ts";
import { el } from "../../page-parts/browser/dom.ts";
import { awaitFont, loadFont } from "../../page-parts/browser/font.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { go, show, startRouter } from "../../page-parts/browser/router.ts";
import { showShell, showTrouble } from "../../page-parts/browser/shell.ts";
import type { Site } from "../../page-parts/browser/site.ts";
import { rememberLanguage } from "../../page-parts/browser/text.ts";
import { BASE } from "./base.ts";
import { pages } from "./page-table.ts";
import {
  hasCommand,
  isSignedIn,
  loadCommands,
  may,
  ownName,
  signOut,
  whenSignedOut,
} from "./session.ts";
import { setLanguage, t } from "./text.ts";

/** Pages that show what a plugin has, with one of its commands, and the right that they need. */
const OF_PLUGINS = new Map<string, readonly [words: string, right?: string]>([
  ["/money", ["transfer list"]],
  ["/report", ["report"]],
  ["/messages", ["message list", "customers"]],
  ["/approvals", ["approval list"]],
  ["/operators", ["operator list"]],
]);

const site: Site = {
  base: BASE,
  get routes() {
    if (!isSignedIn()) return pages;
    return pages.filter(({ path }) => {
      const [words, right = "read"] = OF_PLUGINS.get(path) ?? [];
      return words === undefined || (hasCommand(words) && may(right));
    });
  },
  person: () => (isSignedIn() ? (ownName() ?? t("operator")) : undefined),
  beside: () =>
    el(
      "a",
      { class: "find", href: `${BASE}/search`, "aria-label": t("nav.search") },
      icon("search"),
      el("span", {}, t("nav.search")),
      el("kbd", {}, "/"),
    ),
  async chooseLanguage(language) {
    rememberLanguage(language);
    await setLanguage(language);
  },
  signOut: async () => signOut(),
};

/** Loads the texts and tries the token of this tab, then shows the page of the address. */
async function start(): Promise<void> {
  await setLanguage(document.documentElement.lang === "en" ? "en" : "vi");
  mountAnnouncements();
  let isTried = false;
  whenSignedOut(() => {
    if (isTried) void show();
  });
  addEventListener("keydown", (event) => {
    const isTyping =
      event.target instanceof Element && event.target.closest("input, select, textarea, dialog");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || !isSignedIn()) return;
    event.preventDefault();
    go(`${BASE}/search`);
  });
  const commands = loadCommands().catch((error: unknown) => {
    // A wrong token has signed out already; then the page for signing in says so.
    if (isSignedIn()) throw error;
  });
  try {
    await Promise.all([commands, awaitFont()]);
  } catch (error) {
    showTrouble(BASE, error);
    return;
  }
  isTried = true;
  await startRouter(site, (current) => showShell(site, current));
  await loadFont();
}

void start();
