import { ApiError } from "../../page-parts/browser/api-error.ts";
import { closeButton, openDialog } from "../../page-parts/browser/dialog.ts";
import { el } from "../../page-parts/browser/dom.ts";
import { form } from "../../page-parts/browser/form.ts";
import { codeField } from "../../page-parts/browser/second-factor.ts";
import { post } from "./api.ts";
import { currentPassword } from "./current-password.ts";
import { t } from "./text.ts";

/**
 * Runs a request that shows or makes a key. If the gateway wants the password or a code first, asks the customer for it
 * and runs the request again. If the customer cancels, rejects with the gateway's refusal.
 */
export async function proved<Answer>(request: () => Promise<Answer>): Promise<Answer> {
  try {
    return await request();
  } catch (error) {
    const code = error instanceof ApiError ? error.code : null;
    if (code !== "password_required" && code !== "code_required") throw error;
    if (!(await askForProof(code === "code_required"))) throw error;
    return request();
  }
}

function askForProof(isCode: boolean): Promise<boolean> {
  const { element, input } = isCode ? codeField() : currentPassword();
  return new Promise((resolve) => {
    const submit = async () => {
      await post("/proof", { [isCode ? "code" : "current"]: input.value });
      dialog.close("yes");
    };
    const dialog = openDialog(
      t("proof.title"),
      el("p", {}, t("proof.text")),
      form(t("factor.continue"), submit, element),
      closeButton(t("cancel"), "quiet"),
    );
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}
