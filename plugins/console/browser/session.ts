import { ApiError, errorOf } from "../../page-parts/browser/api-error.ts";

/** The token of a session, or the admin token. This tab alone keeps it: its storage ends with it, and no other tab reads it. */
const STORED = "tollgate_admin_token";
const API = "/admin/v1";
/** Without a key or a click for this long, the tab forgets the token. */
const IDLE_MS = 30 * 60_000;
const CHECK_MS = 30_000;

let token = sessionStorage.getItem(STORED) ?? "";
let usedAt = Date.now();
let hasEnded = false;
let commands: ReadonlySet<string> = new Set();
let me: Me | undefined;
let onSignedOut = () => {};

/** Sets the listener for the end of the session: the token is wrong by now, or nothing was used for half an hour. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
  for (const used of ["keydown", "pointerdown"]) {
    addEventListener(used, () => {
      usedAt = Date.now();
    });
  }
  setInterval(() => {
    if (token !== "" && Date.now() - usedAt > IDLE_MS) end();
  }, CHECK_MS);
}

export function isSignedIn(): boolean {
  return token !== "";
}

/** The name of who is signed in; undefined with the admin token. */
export function ownName(): string | undefined {
  return me?.is_person ? me.name : undefined;
}

/** Returns true if the one who is signed in has this right. The admin API decides; pages hide what it would refuse. */
export function may(right: string): boolean {
  return me === undefined || me.rights.includes(right);
}

/** Returns true if the gateway has a command, so also the plugin that adds it. */
export function hasCommand(words: string): boolean {
  return commands.has(words);
}

/** Signs in as a person. Rejects with an `ApiError` that says why the API refused, or that it needs a code too. */
export async function signInAs(email: string, password: string, code?: string): Promise<void> {
  token = "";
  const given = { email, password, ...(code && { code }) };
  await signIn((await post<{ token: string }>("/sign-in", given)).token);
}

/** Gives the password or a code again, so that money may move. */
export function prove(given: string): Promise<unknown> {
  const isCode = /^\d{3}\s?\d{3}$/.test(given.trim());
  return post("/proof", isCode ? { code: given } : { password: given });
}

/** Signs in with the admin token, or that of a session. Rejects with an `ApiError` that says why the API refused. */
export async function signIn(given: string): Promise<void> {
  token = given;
  try {
    await loadCommands();
  } catch (error) {
    token = "";
    throw error;
  }
  usedAt = Date.now();
  hasEnded = false;
  sessionStorage.setItem(STORED, given);
}

/** Reads which commands there are, which also tries the token of this tab, and who it is. */
export async function loadCommands(): Promise<void> {
  if (token === "") return;
  const list = await get<readonly { readonly words: string }[]>("/commands");
  commands = new Set(list.map(({ words }) => words));
  me = commands.has("operator list") ? await get<Me>("/me") : undefined;
}

export function signOut(): void {
  // If it does not arrive, the session ends by its own age.
  if (me?.is_person) void post("/sign-out", {}).catch(() => {});
  token = "";
  me = undefined;
  sessionStorage.removeItem(STORED);
}

/** Returns true once after a session has ended by itself. */
export function takeEnded(): boolean {
  const ended = hasEnded;
  hasEnded = false;
  return ended;
}

interface Me {
  readonly name: string;
  readonly rights: readonly string[];
  readonly is_person: boolean;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Reads from the admin API. Empty values of `query` are left out. */
export function get<Answer>(path: string, query: Query = {}): Promise<Answer> {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  return send<Answer>("GET", API + path + search);
}

export function post<Answer = unknown>(path: string, body: object): Promise<Answer> {
  return send<Answer>("POST", API + path, body);
}

/** Returns the state of this gateway's stores. It is an answer too if calls cannot be charged. */
export async function readiness(): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch("/readyz").catch(() => undefined);
  if (!response) throw new ApiError(0, null, "unreachable", null);
  return response.json();
}

async function send<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const sent = token;
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch(path, {
      method,
      // No cookie takes part, so no other site can act for the operator.
      credentials: "omit",
      headers: {
        ...(sent !== "" && { authorization: `Bearer ${sent}` }),
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    answer = await response.json().catch(() => ({}));
  } catch {
    throw new ApiError(0, null, "unreachable", null);
  }
  if (response.ok) return answer as Answer;
  if (response.status === 401 && sent === token && sessionStorage.getItem(STORED) === sent) end();
  throw errorOf(response, answer);
}

function end(): void {
  signOut();
  hasEnded = true;
  onSignedOut();
}
