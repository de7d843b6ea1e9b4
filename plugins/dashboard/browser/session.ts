import { ApiError } from "../../page-parts/browser/api-error.ts";
import { currentLanguage, rememberLanguage } from "../../page-parts/browser/text.ts";
import { get, post, setCsrfToken } from "./api.ts";
import { forgetBalance } from "./balance.ts";
import type { Account } from "./contract.ts";
import { BASE, SIGNED_IN_COOKIE } from "./routes.ts";
import { useTeam } from "./team.ts";
import { setLanguage } from "./text.ts";

const YEAR_S = 31_536_000;

let account: Account | undefined;
let hasExpired = false;

/** Returns the signed-in account as of the last reply of the API, undefined if there is none. */
export function currentAccount(): Account | undefined {
  return account;
}

/** Returns false if no customer is signed in, so that a visitor's page skips a request that gets 401. */
function mayBeSignedIn(): boolean {
  return document.cookie.includes(`${SIGNED_IN_COOKIE}=`);
}

/**
 * Loads the signed-in account, undefined if there is none. Rejects if the API is unreachable or
 * fails.
 */
export async function loadAccount(): Promise<Account | undefined> {
  if (!mayBeSignedIn()) return undefined;
  try {
    await setAccount(await get<Account>("/me"));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    expireSession();
  }
  return account;
}

/** Signs in. `code`: of the second factor. Rejects with an `ApiError` that says why the API refused. */
export async function signIn(email: string, password: string, code?: string): Promise<void> {
  await enter("/sign-in", { email, password, ...(code !== undefined && { code }) });
}

/** Verifies the address that a link was mailed to, and signs in. Rejects as `signIn` does. */
export async function verifyAddress(token: string, password: string): Promise<void> {
  await enter("/verify", { token, password });
}

async function enter(path: string, body: object): Promise<void> {
  const answer = await post<{ account: Account; csrf_token: string }>(path, body);
  await setAccount({ ...answer.account, csrf_token: answer.csrf_token });
}

export function forgetAccount(): void {
  account = undefined;
  forgetBalance();
  useTeam(undefined);
  setCsrfToken("");
  rememberSignedIn(0);
}

/** Rejects if the session has not ended: the next person at this computer would have the account. */
export async function signOut(): Promise<void> {
  try {
    await endSession();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  }
  forgetAccount();
}

/** Ends the session of this browser, which another tab may have begun after this page. */
async function endSession(): Promise<void> {
  try {
    await post("/sign-out");
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "wrong_csrf_token") throw error;
    setCsrfToken((await get<Account>("/me")).csrf_token);
    await post("/sign-out");
  }
}

/** Forgets the account since the gateway has ended its session. */
export function expireSession(): void {
  forgetAccount();
  hasExpired = true;
}

/** Returns true once after a session has ended by itself. */
export function takeExpired(): boolean {
  const expired = hasExpired;
  hasExpired = false;
  return expired;
}

async function setAccount(found: Account): Promise<void> {
  account = found;
  hasExpired = false;
  setCsrfToken(found.csrf_token);
  rememberSignedIn(YEAR_S);
  if (found.language === null) return;
  // The language of the account overrides that of the browser.
  if (found.language !== currentLanguage()) await setLanguage(found.language);
  rememberLanguage(found.language);
}

/** The gateway reads this cookie too: see `Route.reads`. */
function rememberSignedIn(maxAgeS: number): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is not there without https
  document.cookie = `${SIGNED_IN_COOKIE}=yes; path=${BASE}; max-age=${maxAgeS}; samesite=lax`;
}

/** Changes the language of the pages and, for a signed-in customer, of the account. */
export async function chooseLanguage(language: "vi" | "en"): Promise<void> {
  rememberLanguage(language);
  if (account) account = { ...account, language };
  const both = [setLanguage(language), account && post("/me", { language })];
  // Both end before the page is shown again, else texts that come late change half of it.
  for (const one of await Promise.allSettled(both)) if (one.status === "rejected") throw one.reason;
}
