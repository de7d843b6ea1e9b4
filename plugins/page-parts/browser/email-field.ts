import { type Field, field } from "./form.ts";
import { t } from "./text.ts";

/** The field for the address that a person signs in with. */
export function emailField(value: string | null = null): Field {
  return field(t("email"), {
    type: "email",
    name: "email",
    autocomplete: "username",
    inputmode: "email",
    required: true,
    value,
  });
}
