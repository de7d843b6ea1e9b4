import { parseCookie, stringifySetCookie } from "cookie";

/** What the cookies are for: the session, and the browser in which an account has signed in before. */
type Purpose = "session" | "device";
/** The form of both tokens. */
const TOKEN = /^[\w-]{43}$/;

/** Returns the token of a `cookie` header. Of several, the first: browsers send the most specific first. */
export function tokenIn(
  header: string | undefined,
  isSecure: boolean,
  purpose: Purpose = "session",
): string | undefined {
  const value = parseCookie(header ?? "")[nameOf(purpose, isSecure)] ?? "";
  return TOKEN.test(value) ? value : undefined;
}

/** Returns a `set-cookie` header. Scripts cannot read the cookie, and browsers send it only from our own pages. */
export function cookieOf(
  token: string,
  maxAgeS: number,
  isSecure: boolean,
  purpose: Purpose = "session",
): string {
  return stringifySetCookie({
    name: nameOf(purpose, isSecure),
    value: token,
    // The prefix of the name asks for the root.
    path: isSecure ? "/" : "/account",
    maxAge: maxAgeS,
    httpOnly: true,
    sameSite: "strict",
    secure: isSecure,
  });
}

/** Under https with a prefix, for which browsers refuse cookies that pages of neighbouring domains set. */
function nameOf(purpose: Purpose, isSecure: boolean): string {
  return `${isSecure ? "__Host-" : ""}tollgate_${purpose}`;
}

export function forgottenCookie(isSecure: boolean): string {
  return cookieOf("", 0, isSecure);
}
