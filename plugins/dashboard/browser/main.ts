import { mountAnnouncements } from "./announce.ts";
import { ApiError, whenSignedOut, whenSuspended } from "./api.ts";
import { el, fill } from "./dom.ts";
import { failureText } from "./failure.ts";
import { awaitFont, loadFont } from "./font.ts";
import { notice } from "./form.ts";
import { pages } from "./page-table.ts";
import { show, startRouter } from "./router.ts";
import { expireSession, loadAccount } from "./session.ts";
import { showBare, showShell } from "./shell.ts";
import { mountStatusBars } from "./status-bars.ts";
import { showSuspended } from "./suspended.ts";
import { setLanguage, t } from "./text.ts";

/** Loads the texts and the account, then shows the page of the address. */
async function start(): Promise<void> {
  const language = document.documentElement.lang === "en" ? "en" : "vi";
  await setLanguage(language);
  mountAnnouncements();
  mountStatusBars();
  whenSignedOut(() => {
    expireSession();
    void show();
  });
  whenSuspended(showSuspended);
  const account = loadAccount();
  try {
    await Promise.all([account, awaitFont()]);
  } catch (error) {
    const isSuspended = error instanceof ApiError && error.code === "account_suspended";
    if (!isSuspended) showTrouble(error);
    return;
  }
  await startRouter(pages, (current) => showShell(pages, current));
  await loadFont();
}

/** Shows that nothing can be loaded, instead of a page. */
function showTrouble(error: unknown): void {
  fill(
    showBare(),
    el(
      "div",
      { class: "auth" },
      notice("bad", failureText(error)),
      el("button", { type: "button", onclick: () => location.reload() }, t("retry")),
    ),
  );
}

void start();
