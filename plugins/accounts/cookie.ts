import { parseCookie, stringifySetCookie } from "cookie";

const NAME = "tollgate_session";
/** The form of a session token. */
const TOKEN = /^[\w-]{43}$/;

/** Returns the session token of a `cookie` header. Of several, the first: browsers send the most specific first. */
export function tokenIn(header: string | undefined): string | undefined {
  const value = parseCookie(header ?? "")[NAME] ?? "";
  return TOKEN.test(value) ? value : undefined;
}

/** Returns a `set-cookie` header. Scripts cannot read the cookie, and browsers send it only from our own pages. */
export function cookieOf(token: string, maxAgeS: number, isSecure: boolean): string {
  return stringifySetCookie({
    name: NAME,
    value: token,
    path: "/account",
    maxAge: maxAgeS,
    httpOnly: true,
    sameSite: "strict",
    secure: isSecure,
  });
}

export function forgottenCookie(isSecure: boolean): string {
  return cookieOf("", 0, isSecure);
}
