import { ApiError, get, post, setCsrfToken } from "./api.ts";
import type { Account } from "./contract.ts";
import { currentLanguage, rememberLanguage, speak } from "./text.ts";

/** Set where somebody is signed in, so that a visitor's page need not ask and be refused. */
const SIGNED_IN = "tollgate-signed-in";

let account: Account | undefined;

/** Who is signed in, as far as is known. */
export function currentAccount(): Account | undefined {
  return account;
}

/** Asks who is signed in. Rejects where nobody can tell. */
export async function loadAccount(): Promise<Account | undefined> {
  if (localStorage.getItem(SIGNED_IN) === null) return undefined;
  try {
    await entered(await get<Account>("/me"));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    forgetAccount();
  }
  return account;
}

/** Rejects with what was wrong about the address or the password. */
export async function signIn(email: string, password: string): Promise<void> {
  const body = { email, password };
  const answer = await post<{ account: Account; csrf_token: string }>("/sign-in", body);
  await entered({ ...answer.account, csrf_token: answer.csrf_token });
}

export function forgetAccount(): void {
  account = undefined;
  setCsrfToken("");
  localStorage.removeItem(SIGNED_IN);
}

async function entered(found: Account): Promise<void> {
  account = found;
  setCsrfToken(found.csrf_token);
  localStorage.setItem(SIGNED_IN, "yes");
  // The account's language counts wherever its owner signs in.
  if (found.language !== currentLanguage()) await speak(found.language);
  rememberLanguage(found.language);
}

/** Changes the language here and, for whoever is signed in, in the account. */
export async function chooseLanguage(language: "vi" | "en"): Promise<void> {
  rememberLanguage(language);
  await speak(language);
  if (!account) return;
  account = { ...account, language };
  await post("/me", { language });
}
