import { mountAnnouncements } from "../../page-parts/browser/announce.ts";
import { ApiError } from "../../page-parts/browser/api-error.ts";
import { whenRefused } from "../../page-parts/browser/failure.ts";
import { awaitFont, loadFont } from "../../page-parts/browser/font.ts";
import { show, startRouter } from "../../page-parts/browser/router.ts";
import { showShell, showTrouble } from "../../page-parts/browser/shell.ts";
import type { Site } from "../../page-parts/browser/site.ts";
import { whenSignedOut, whenSuspended } from "./api.ts";
import { balanceLink, forgetWallet } from "./balance.ts";
import { pagesOfMember, servedPages } from "./page-table.ts";
import { hasPlugin } from "./plugins.ts";
import { BASE } from "./routes.ts";
import { chooseLanguage, currentAccount, expireSession, loadAccount, signOut } from "./session.ts";
import { mountStatusBars, showMaintenance } from "./status-bars.ts";
import { showSuspended } from "./suspended.ts";
import { currentTeam } from "./team.ts";
import { teamLink } from "./team-link.ts";
import { setLanguage } from "./text.ts";

const own = servedPages(hasPlugin);
const ofTeam = pagesOfMember(own);
const site: Site = {
  base: BASE,
  get routes() {
    return currentTeam() ? ofTeam : own;
  },
  person: () => currentAccount()?.email,
  beside: () => (currentTeam() ? teamLink() : balanceLink()),
  chooseLanguage,
  signOut,
};

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
  whenRefused(({ code }) => {
    if (code === "maintenance") void showMaintenance();
  });
  const account = loadAccount();
  try {
    await Promise.all([account, awaitFont()]);
  } catch (error) {
    const isSuspended = error instanceof ApiError && error.code === "account_suspended";
    if (!isSuspended) showTrouble(BASE, error);
    return;
  }
  await startRouter(site, (current) => {
    forgetWallet();
    return showShell(site, current);
  });
  await loadFont();
}

void start();
