import { parseCookie, stringifySetCookie } from "cookie";

const NAME = "tollgate_session";
/** A token of ours, and nothing else. */
const TOKEN = /^[\w-]{43}$/;

/** The session's token in a `cookie` header; the first of several, as browsers send the most specific first. */
export function tokenIn(header: string | undefined): string | undefined {
  const value = parseCookie(header ?? "")[NAME] ?? "";
  return TOKEN.test(value) ? value : undefined;
}

/** A `set-cookie` that scripts cannot read and that no other site's request carries. */
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
