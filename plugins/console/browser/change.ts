import { toast } from "../../page-parts/browser/announce.ts";
import { ApiError } from "../../page-parts/browser/api-error.ts";
import { closeButton, openDialog } from "../../page-parts/browser/dialog.ts";
import { type Child, el, fill } from "../../page-parts/browser/dom.ts";
import { failureText } from "../../page-parts/browser/failure.ts";
import { type Field, field, notice } from "../../page-parts/browser/form.ts";
import { BASE } from "./base.ts";
import { commandLine, commandText, type Options } from "./command-line.ts";
import { sentenceOf } from "./gateway-sentences.ts";
import { post, prove } from "./session.ts";
import { t } from "./text.ts";

interface Change {
  readonly title: string;
  /** A text above the fields. */
  readonly about?: Child;
  readonly fields: readonly Pick<Field, "element">[];
  readonly path: string;
  /** The command that does the same, and its options that the path says. */
  readonly command: string;
  readonly of?: Options;
  /** The other options, as the fields are now, which are the body of the request too. Default: none. */
  given?(): Options;
  /** The body, if it says other things than the command. Undefined: nothing is to change, so the form closes. */
  body?(): object | undefined | Promise<object>;
  /** Sends it, and leaves the form open. Default: it is sent, and the form closes. */
  send?(path: string, body: object): Promise<void>;
  /** Default: the title. */
  readonly action?: string;
  readonly isDangerous?: boolean;
  /** True if it moves money: then the gateway first says what it does to whose balance, and waits. */
  readonly movesMoney?: boolean;
  /** Returns the wallet before and after, shown with the question. */
  effect?(): Promise<Child>;
  /** Runs after the change was made, with the reply. */
  done?(reply: unknown): void | Promise<void>;
}

/**
 * Opens a form for a change. It is sent after a second look: of an amount the gateway itself says whose balance it changes,
 * and from how much.
 */
export function openChange(change: Change): void {
  const { path, action = change.title } = change;
  const problem = el("div", { role: "alert" });
  const question = el("div", { class: "stack" });
  const command = el("div");
  const send = el(
    "button",
    { type: "submit", class: change.isDangerous ? "danger" : "primary" },
    action,
  );
  const form = el(
    "form",
    { class: "stack" },
    change.about,
    change.fields.map(({ element }) => element),
    question,
    problem,
    el("div", { class: "row end" }, closeButton(t("cancel")), send),
    el("details", {}, el("summary", {}, t("command.same")), command),
  );
  const dialog = openDialog(change.title, form);
  const again = el("div");
  question.before(again);
  let proof: HTMLInputElement | undefined;
  let isConfirmed = false;
  // Then it counts once, and "counted before" is what was wanted.
  let isSentAgain = false;

  const showCommand = () => {
    const options = { ...change.of, ...change.given?.() };
    fill(command, commandLine(commandText(change.command, options)));
  };
  // A changed amount is another question.
  form.addEventListener("input", () => {
    isConfirmed = false;
    fill(question);
    fill(send, action);
    showCommand();
  });
  showCommand();

  /** A session that is left alone for a while moves no money. */
  function askForProof(isAsked: boolean): void {
    const asked = isAsked
      ? field(t("proof"), { type: "password", autocomplete: "current-password", required: true })
      : undefined;
    proof = asked?.input;
    fill(again, asked?.element);
    proof?.focus();
  }

  /** A large movement is not made yet: another person decides. */
  function showWaiting(): void {
    const close = () => dialog.close();
    fill(
      form,
      notice("info", t("approval.waits")),
      el(
        "div",
        { class: "row end" },
        el("a", { class: "button", href: `${BASE}/approvals`, onclick: close }, t("nav.approvals")),
        el("button", { type: "button", class: "primary", onclick: close }, t("close")),
      ),
    );
  }

  async function ask(text: string): Promise<void> {
    // The question is what counts: without a network or a store the rest is left out.
    const effect = await change.effect?.().catch(() => undefined);
    fill(question, notice("info", el("p", {}, text), effect));
    fill(send, t("change.confirm"));
    isConfirmed = true;
    send.focus();
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (send.getAttribute("aria-busy") === "true") return;
    send.setAttribute("aria-busy", "true");
    fill(problem);
    try {
      if (proof) await prove(proof.value);
      askForProof(false);
      const given = change.body ? await change.body() : (change.given?.() ?? {});
      if (given === undefined) return dialog.close();
      // As in a command, an empty field is left out.
      const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
      if (change.send) return await change.send(path, body);
      const isFirst = change.movesMoney && !isConfirmed;
      const reply = await post<{ readonly applied?: boolean }>(
        path,
        isFirst ? { ...body, confirm_above_vnd: "0" } : body,
      );
      if (reply.applied === false && !isSentAgain)
        return fill(problem, notice("info", t("change.before")));
      dialog.close();
      toast(t("change.done"));
      await change.done?.(reply);
    } catch (error) {
      const { code, status, message } =
        error instanceof ApiError ? error : { code: null, status: 400, message: "" };
      isSentAgain ||= status === 0 || status >= 500;
      const said = sentenceOf(message);
      if (code === "confirmation_needed") await ask(said ?? message);
      else if (code === "proof_required") askForProof(true);
      else if (code === "approval_needed") showWaiting();
      else fill(problem, notice("bad", said ?? failureText(error)));
    } finally {
      send.removeAttribute("aria-busy");
    }
  });
  form.querySelector<HTMLElement>("input, textarea, select")?.focus();
}

/** The field for why a change is made. */
export function reasonField(hint?: Child): Field {
  return field(t("reason"), { required: true, maxlength: 500 }, hint);
}

/** The field for why a change is made that needs no reason. */
export function optionalReason(): Field {
  return field(t("reason"), { maxlength: 500 });
}

/** A reference for one movement, made once for a form: sent twice, it counts once. */
export function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
