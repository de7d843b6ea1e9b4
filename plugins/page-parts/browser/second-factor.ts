import { type Field, field } from "./form.ts";
import { t } from "./text.ts";

/** A field for a code from the authenticator app, or a recovery code if there are some. */
export function codeField(hint = t("factor.code.hint")): Field {
  const attributes = { autocomplete: "one-time-code", autocapitalize: "none", spellcheck: "false" };
  return field(
    t("factor.code"),
    { name: "code", required: true, maxlength: 40, ...attributes },
    hint,
  );
}
