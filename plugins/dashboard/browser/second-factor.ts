import { copyButton } from "../../page-parts/browser/copy.ts";
import { closeButton, openDialog } from "../../page-parts/browser/dialog.ts";
import { el, fill } from "../../page-parts/browser/dom.ts";
import { form, notice } from "../../page-parts/browser/form.ts";
import { date } from "../../page-parts/browser/format.ts";
import { type NewFactor, newFactor } from "../../page-parts/browser/new-factor.ts";
import { card, loadInto } from "../../page-parts/browser/page-head.ts";
import { codeField } from "../../page-parts/browser/second-factor.ts";
import { get, post } from "./api.ts";
import type { SecondFactor } from "./contract.ts";
import { currentPassword } from "./current-password.ts";
import { t } from "./text.ts";

interface NewCodes {
  readonly recovery_codes: readonly string[];
}

/** The card of the account page that switches the second factor on and off. */
export function secondFactorCard(signal: AbortSignal): HTMLElement {
  const content = el("div", {});
  const load = (): Promise<void> =>
    loadInto(content, signal, async () => state(await get<SecondFactor>("/second-factor"), load));
  void load();
  return card(t("factor.title"), content);
}

function state(factor: SecondFactor, reload: () => Promise<void>): HTMLElement {
  const { available, enabled_at: enabledAt, recovery_codes_left: left } = factor;
  const button = (text: string, look: string, onclick: () => void) =>
    el("button", { type: "button", class: look, onclick }, text);
  if (enabledAt === null) {
    return el(
      "div",
      { class: "stack" },
      el("p", { class: "hint" }, available ? t("factor.off") : t("factor.unavailable")),
      available &&
        el(
          "p",
          {},
          button(t("factor.on"), "", () => openSetUp(reload)),
        ),
    );
  }
  return el(
    "div",
    { class: "stack" },
    notice(left > 2 ? "good" : "info", t("factor.since", { date: date(enabledAt) })),
    el("p", { class: "hint" }, t("factor.left", { count: left })),
    el(
      "p",
      { class: "row" },
      button(t("factor.newcodes"), "", () => openNewCodes(reload)),
      button(t("factor.turnoff"), "danger", () => openTurnOff(reload)),
    ),
  );
}

/** Asks for the password, shows the secret, asks for a first code, shows the recovery codes. */
function openSetUp(reload: () => Promise<void>): void {
  const steps = el("div", { class: "stack" });
  const dialog = openDialog(t("factor.title"), steps, closeButton(t("cancel"), "quiet"));
  const password = currentPassword();
  const begin = async () => {
    const made = await post<NewFactor>("/second-factor", { current: password.input.value });
    showSecret(made);
  };
  fill(steps, form(t("factor.continue"), begin, password.element));

  function showSecret(made: NewFactor): void {
    const code = codeField(t("factor.code.first"));
    const confirm = async () => {
      const given = { code: code.input.value };
      const { recovery_codes: codes } = await post<NewCodes>("/second-factor/confirm", given);
      dialog.close();
      openCodes(codes);
      await reload();
    };
    fill(
      steps,
      newFactor(made),
      el(
        "p",
        {},
        copyButton(t("factor.copysecret"), () => made.secret),
      ),
      form(t("factor.on"), confirm, code.element),
    );
    code.input.focus();
  }
}

/** Shows recovery codes. They are shown only this once. */
function openCodes(codes: readonly string[]): void {
  const text = codes.join("\n");
  openDialog(
    t("factor.codes"),
    notice("info", t("factor.codes.text")),
    el("pre", { class: "secret", "data-codes": true }, text),
    el(
      "div",
      { class: "row end" },
      copyButton(t("factor.copycodes"), () => text),
      closeButton(t("done"), "primary"),
    ),
  );
}

function openNewCodes(reload: () => Promise<void>): void {
  openProof(t("factor.newcodes"), t("factor.newcodes.text"), async (proof) => {
    const made = await post<NewCodes>("/second-factor/recovery-codes", proof);
    openCodes(made.recovery_codes);
    await reload();
  });
}

function openTurnOff(reload: () => Promise<void>): void {
  openProof(t("factor.turnoff"), t("factor.turnoff.text"), async (proof) => {
    await post("/second-factor/off", proof);
    await reload();
  });
}

/** Asks for the password and a code, which every change of a second factor takes. */
function openProof(
  title: string,
  text: string,
  change: (proof: { current: string; code: string }) => Promise<void>,
): void {
  const [password, code] = [currentPassword(), codeField()];
  const submit = async () => {
    await change({ current: password.input.value, code: code.input.value });
    dialog.close();
  };
  const dialog = openDialog(
    title,
    el("p", {}, text),
    form(title, submit, password.element, code.element),
    closeButton(t("cancel"), "quiet"),
  );
}
