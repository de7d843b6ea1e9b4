import { email, keyLimits, line, mapping, matching, oneOf, v } from "../../core/plugin/index.ts";

const PASSWORD = "a password of 10 to 200 characters";
const PASSWORD_CHARACTERS_MIN = 10;
const PASSWORD_CHARACTERS_MAX = 200;
const TOKEN = "the token of the link";
const CODE = "a code from the authenticator app, or a recovery code";
const CODE_CHARACTERS_MAX = 40;
const NAME = "a name of 1 to 100 characters on one line";

const newPassword = v.pipe(
  v.string(PASSWORD),
  v.check((text) => {
    const { length } = [...text.normalize("NFKC")];
    return length >= PASSWORD_CHARACTERS_MIN && length <= PASSWORD_CHARACTERS_MAX;
  }, PASSWORD),
);
/** A password to check. An impossible one is simply wrong; the length is bounded because it is hashed. */
const givenPassword = v.pipe(
  v.string(PASSWORD),
  v.maxLength(4 * PASSWORD_CHARACTERS_MAX, PASSWORD),
);
/** Six digits, or a recovery code. */
const code = v.pipe(v.string(CODE), v.nonEmpty(CODE), v.maxLength(CODE_CHARACTERS_MAX, CODE));
const invitationCode = line(CODE_CHARACTERS_MAX, "the code of an invitation");
const language = oneOf(["vi", "en"]);
const token = matching(/^[\w-]{43}$/, TOKEN);

export const signUp = mapping({
  email,
  password: newPassword,
  language: v.optional(language),
  agreed: v.optional(v.boolean("true or false"), false),
  code: v.optional(invitationCode),
});
export const signIn = mapping({ email, password: givenPassword, code: v.optional(code) });
export const verification = mapping({ token, password: givenPassword, code: v.optional(code) });
export const resend = mapping({ email });
export const forgotten = mapping({ email, language: v.optional(language) });
export const resetLink = mapping({ token });
export const reset = mapping({
  token,
  password: newPassword,
  revoke_keys: v.optional(v.boolean("true or false"), false),
});
export const change = mapping({ current: givenPassword, password: newPassword });
export const newFactor = mapping({ current: givenPassword });
export const firstCode = mapping({ code });
export const factorChange = mapping({ current: givenPassword, code });
export const proof = mapping({ current: v.optional(givenPassword), code: v.optional(code) });
export const settings = mapping({
  language: v.optional(language),
  announcements: v.optional(v.boolean("true or false")),
});
export const newKey = mapping({
  name: line(100, NAME),
  limits: v.optional(mapping(keyLimits.fields), {}),
});
export const keyChange = mapping(keyLimits.fields);
