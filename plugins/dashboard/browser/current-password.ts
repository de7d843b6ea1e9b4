import { type Field, field } from "../../page-parts/browser/form.ts";
import { t } from "./text.ts";

/** The field for the password that a customer has. */
export function currentPassword(): Field {
  return field(t("password.current"), {
    type: "password",
    name: "current-password",
    autocomplete: "current-password",
    required: true,
  });
}
