import { ApiError } from "./api-error.ts";
import { type Attributes, type Child, el, fill, newId } from "./dom.ts";
import { failureText } from "./failure.ts";
import { icon } from "./icons.ts";
import { t } from "./text.ts";

export interface Field {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
}

/** An input with its label and an optional hint. */
export function field(label: string, attributes: Attributes, hint?: Child): Field {
  const id = newId("field");
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  const input = el("input", { id, ...attributes, "aria-describedby": hintId });
  const element = el(
    "div",
    { class: "field" },
    el("label", { for: id }, label),
    attributes["type"] === "password" ? withReveal(input) : input,
    hint !== undefined && el("p", { class: "hint", id: hintId }, hint),
  );
  return { element, input };
}

/** A password that its owner can read. */
function withReveal(input: HTMLInputElement): HTMLElement {
  const button = el("button", { type: "button", class: "quiet small" }, t("password.show"));
  button.addEventListener("click", () => {
    const isShown = input.type === "password";
    input.type = isShown ? "text" : "password";
    fill(button, t(isShown ? "password.hide" : "password.show"));
  });
  return el("div", { class: "reveal" }, input, button);
}

/** A select with its label. */
export function choice(
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  selected = "",
): { element: HTMLElement; select: HTMLSelectElement } {
  const id = newId("choice");
  const select = el(
    "select",
    { id },
    options.map(([value, text]) => el("option", { value, selected: value === selected }, text)),
  );
  return {
    element: el("div", { class: "field" }, el("label", { for: id }, label), select),
    select,
  };
}

/**
 * A form that runs `submit`. Until it settles the button is busy, and an error is shown above the
 * button.
 */
export function form(
  submitText: string,
  submit: () => Promise<void>,
  ...content: Child[]
): HTMLFormElement {
  const problem = el("div", { role: "alert" });
  const button = el("button", { type: "submit", class: "primary" }, submitText);
  const element = el("form", { class: "stack", novalidate: false }, content, problem, button);
  explainInvalid(element);
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    void busy(button, problem, submit);
  });
  return element;
}

/** Runs a button's work once at a time: until it settles the button is busy. Says in `problem` if it failed. */
export async function busy(
  button: HTMLElement,
  problem: HTMLElement,
  work: () => Promise<void>,
): Promise<void> {
  if (button.getAttribute("aria-busy") === "true") return;
  button.setAttribute("aria-busy", "true");
  fill(problem);
  try {
    await work();
  } catch (error) {
    fill(problem, notice("bad", ...failureOf(error, button.closest("form"))));
  } finally {
    button.removeAttribute("aria-busy");
  }
}

/** Says which field of a form was refused, and why in the server's own words: the texts of the pages do not know each rule. */
function failureOf(error: unknown, form: HTMLFormElement | null): Child[] {
  const text = failureText(error);
  if (!(error instanceof ApiError) || error.status !== 400 || error.code !== null) return [text];
  const [name = ""] = error.param?.split(".").slice(-1) ?? [];
  const input = form?.elements.namedItem(name);
  const label = input instanceof HTMLInputElement ? input.labels?.[0]?.textContent : undefined;
  return [
    el("p", {}, label ? `${label}: ${text}` : text),
    error.message !== text && el("p", { class: "hint", lang: "en" }, error.message),
  ];
}

/** Says what is wrong with a field in the language of the page instead of the browser's. */
function explainInvalid(form: HTMLFormElement): void {
  let explained: HTMLInputElement[] = [];
  form.addEventListener("input", () => {
    for (const input of explained) input.setCustomValidity("");
    explained = [];
  });
  form.addEventListener(
    "invalid",
    ({ target }) => {
      if (!(target instanceof HTMLInputElement) || target.validity.customError) return;
      target.setCustomValidity(invalidText(target));
      explained.push(target);
    },
    true,
  );
}

function invalidText({ minLength, type, validity }: HTMLInputElement): string {
  const { patternMismatch, rangeUnderflow, tooShort, typeMismatch } = validity;
  if (tooShort) return t("invalid.short", { count: minLength });
  if (rangeUnderflow && type === "date") return t("error.time_is_over");
  // All patterns of these forms are of amounts.
  if (patternMismatch) return t("invalid.number");
  return t(typeMismatch ? "invalid.email" : "invalid.missing");
}

/** A message that stays on the page: a success, an error or a remark. */
export function notice(kind: "good" | "bad" | "info", ...content: Child[]): HTMLElement {
  const sign = icon(kind === "good" ? "check" : "alert");
  return el("div", { class: `notice ${kind}` }, sign, el("div", {}, content));
}
