import t from "tap";
import { cookieOf, forgottenCookie, tokenIn } from "../../../plugins/accounts/cookie.ts";

const token = `${"a".repeat(42)}_`;
const other = "b".repeat(43);

t.test(
  "the session token is the first cookie of that name, and only if it is well-formed",
  async (t) => {
    for (const [header, expected] of [
      [undefined, undefined],
      ["", undefined],
      ["tollgate_session", undefined],
      [`tollgate_session=${token}`, token],
      [`theme=dark;tollgate_session=${token} ; x=1`, token],
      [`tollgate_session=${token}; tollgate_session=${other}`, token],
      [`tollgate_session=short; tollgate_session=${other}`, undefined],
      [`not_tollgate_session=${token}`, undefined],
      [`tollgate_session=${token}=`, undefined],
      [`tollgate_session="${token}"`, undefined],
      [`__proto__=x; tollgate_session=${token}`, token],
      [`x=%E0%A4%A; tollgate_session=${token}`, token],
    ] as const) {
      t.equal(tokenIn(header, false), expected, header ?? "");
    }
  },
);

t.test("scripts cannot read the cookie, and other sites' requests do not carry it", async (t) => {
  const attributes = (cookie: string) => cookie.split("; ").sort();
  const common = ["HttpOnly", "SameSite=Strict"];
  t.strictSame(
    attributes(cookieOf(token, 60, true)),
    [...common, "Max-Age=60", "Path=/", "Secure", `__Host-tollgate_session=${token}`].sort(),
  );
  t.strictSame(
    attributes(forgottenCookie(false)),
    [...common, "Max-Age=0", "Path=/account", "tollgate_session="].sort(),
  );
});

t.test("under https, no page of a neighbouring domain can set the cookie", async (t) => {
  t.equal(tokenIn(`tollgate_session=${other}; __Host-tollgate_session=${token}`, true), token);
  t.equal(tokenIn(`tollgate_session=${other}`, true), undefined);
});
