import { email, keyLimits, line, mapping, matching, oneOf, v } from "../../core/plugin/index.ts";
import { CODE_CHARACTERS_MAX, fields } from "../sign-in-parts/fields.ts";

const TOKEN = "the token of the link";
const NAME = "a name of 1 to 100 characters on one line";

const { newPassword, givenPassword, code } = fields;
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
  language: v.optional(language),
  revoke_keys: v.optional(v.boolean("true or false"), false),
});
export const change = mapping({ current: givenPassword, password: newPassword });
export const newFactor = mapping({ current: givenPassword });
export const firstCode = mapping({ code });
export const factorChange = mapping({ current: givenPassword, code });
export const proof = mapping({ current: v.optional(givenPassword), code: v.optional(code) });
export const settings = mapping({ language: v.optional(language) });
export const newKey = mapping({
  name: line(100, NAME),
  limits: v.optional(mapping(keyLimits.fields), {}),
});
export const keyChange = mapping(keyLimits.fields);
