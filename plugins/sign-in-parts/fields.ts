import { email, v } from "../../core/plugin/index.ts";

const PASSWORD = "a password of 10 to 200 characters";
const PASSWORD_CHARACTERS_MIN = 10;
const PASSWORD_CHARACTERS_MAX = 200;
const CODE = "a code from the authenticator app, or a recovery code";
/** Maximum length of a code that a person types. */
export const CODE_CHARACTERS_MAX = 40;

/** Fields of requests that sign in. */
export const fields = {
  email,
  newPassword: v.pipe(
    v.string(PASSWORD),
    v.check((text) => {
      const { length } = [...text.normalize("NFKC")];
      return length >= PASSWORD_CHARACTERS_MIN && length <= PASSWORD_CHARACTERS_MAX;
    }, PASSWORD),
  ),
  /** A password to check. An impossible one is simply wrong; the length is bounded because it is hashed. */
  givenPassword: v.pipe(v.string(PASSWORD), v.maxLength(4 * PASSWORD_CHARACTERS_MAX, PASSWORD)),
  /** Six digits, or a recovery code. */
  code: v.pipe(
    v.string(CODE),
    v.nonEmpty(CODE),
    v.maxLength(CODE_CHARACTERS_MAX, CODE),
    // As apps show it, and as people type it.
    v.transform((code) => code.replace(/\s/g, "")),
  ),
};
