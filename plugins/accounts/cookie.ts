const NAME = "tollgate_session";
/** A token of ours, and nothing else. */
const TOKEN = /^[\w-]{43}$/;

/** The session's token in a `cookie` header; the first of several, as browsers send the most specific first. */
export function tokenIn(header: string | undefined): string | undefined {
  for (const pair of (header ?? "").split(";")) {
    const at = pair.indexOf("=");
    if (at < 0 || pair.slice(0, at).trim() !== NAME) continue;
    const value = pair.slice(at + 1).trim();
    return TOKEN.test(value) ? value : undefined;
  }
  return undefined;
}

/** A `set-cookie` that scripts cannot read and that no other site's request carries. */
export function cookieOf(token: string, maxAgeS: number, isSecure: boolean): string {
  const secure = isSecure ? "; Secure" : "";
  return `${NAME}=${token}; Path=/account; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
}

export function forgottenCookie(isSecure: boolean): string {
  return cookieOf("", 0, isSecure);
}
