import { type Field, field } from "../../page-parts/browser/form.ts";
import { t } from "./text.ts";

/** The field for a new password: at least ten characters of any kind. */
export function newPassword(label = t("password")): Field {
  return field(
    label,
    {
      type: "password",
      name: "new-password",
      autocomplete: "new-password",
      minlength: 10,
      maxlength: 200,
      required: true,
    },
    t("password.hint"),
  );
}
