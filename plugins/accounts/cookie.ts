import { parseCookie, stringifySetCookie } from "cookie";

/** The purposes of the cookies: the session, and the browser in which an account has signed in before. */
type Purpose = "session" | "device";
/** The form of both tokens. */
const TOKEN = /^[\w-]{43}$/;
/** Sign-ins from new browsers that one cookie keeps: so many accounts, and fewer if one of them reset its password. */
export const DEVICE_TOKENS_MAX = 4;

/** Returns the session's token in a `cookie` header. Of several, the first: browsers send the most specific first. */
export function tokenIn(header: string | undefined, isSecure: boolean): string | undefined {
  const value = parseCookie(header ?? "")[nameOf("session", isSecure)] ?? "";
  return TOKEN.test(value) ? value : undefined;
}

/** Returns the tokens of the browser in a `cookie` header, joined by dots: the newest first. */
export function deviceTokensIn(header: string | undefined, isSecure: boolean): string[] {
  const value = parseCookie(header ?? "")[nameOf("device", isSecure)] ?? "";
  return value.split(".", DEVICE_TOKENS_MAX).filter((token) => TOKEN.test(token));
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
    // The prefix `__Host-` of the name requires the root path.
    path: isSecure ? "/" : "/account",
    maxAge: maxAgeS,
    httpOnly: true,
    sameSite: "strict",
    secure: isSecure,
  });
}

/**
 * Under https, the name has a prefix. Browsers refuse a cookie with this prefix if a neighbouring domain's page sets
 * it.
 */
function nameOf(purpose: Purpose, isSecure: boolean): string {
  return `${isSecure ? "__Host-" : ""}tollgate_${purpose}`;
}

export function forgottenCookie(isSecure: boolean): string {
  return cookieOf("", 0, isSecure);
}
