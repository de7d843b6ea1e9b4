import { ApiError } from "./api-error.ts";
import { takeSecrets } from "./auth-card.ts";
import { el, fill } from "./dom.ts";
import { emailField } from "./email-field.ts";
import { field, form } from "./form.ts";
import { go, nextAddress } from "./router.ts";
import { codeField } from "./second-factor.ts";
import { t } from "./text.ts";

type SignIn = (email: string, password: string, code: string | undefined) => Promise<unknown>;

/** The form that signs a person in, and asks for a code if the server wants one. Then it opens the page that was wanted. */
export function signInForm(signIn: SignIn): HTMLFormElement {
  const given = demoAccount(takeSecrets());
  const email = emailField(given?.get("email"));
  const password = field(t("password"), {
    type: "password",
    name: "password",
    autocomplete: "current-password",
    required: true,
    value: given?.get("password") ?? null,
  });
  const code = codeField();
  const second = el("div");
  const submit = async () => {
    const isAsked = second.childElementCount > 0;
    const typed = isAsked ? code.input.value : undefined;
    try {
      await signIn(email.input.value.trim(), password.input.value, typed);
    } catch (error) {
      const isNeeded = error instanceof ApiError && error.code === "second_factor_required";
      if (isAsked || !isNeeded) throw error;
      fill(second, code.element);
      code.input.focus();
      return;
    }
    go(nextAddress(), { replace: true });
  };
  return form(t("signin.submit"), submit, email.element, password.element, second);
}

/** A link fills the form in only with the demo's account: any other could lead people into the account of its sender. */
function demoAccount(given: URLSearchParams): URLSearchParams | undefined {
  const { demo } = document.documentElement.dataset;
  return demo !== undefined && given.get("email") === demo ? given : undefined;
}
