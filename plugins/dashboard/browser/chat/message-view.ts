import { ApiError } from "../../../page-parts/browser/api-error.ts";
import { badge } from "../../../page-parts/browser/badge.ts";
import { copyButton } from "../../../page-parts/browser/copy.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { failureText } from "../../../page-parts/browser/failure.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { number, seconds, vnd } from "../../../page-parts/browser/format.ts";
import { get } from "../api.ts";
import type { CallRecord } from "../contract.ts";
import { adviceOnMoney } from "../lack-of-money.ts";
import { BASE } from "../routes.ts";
import { t } from "../text.ts";
import { MarkdownView } from "./markdown.ts";
import type { Turn } from "./stream.ts";

/** Delays between requests for the cost: a call is recorded shortly after its end. */
const COST_POLLS_MS = [150, 250, 400, 600, 1000, 1500, 2000, 3000, 5000, 8000];

/** A message of the customer. */
export function questionView({ text, images }: Turn): HTMLElement {
  return el(
    "article",
    { class: "turn user", "aria-label": t("chat.you") },
    images.length > 0 &&
      el(
        "div",
        { class: "pictures" },
        images.map(({ name, dataUrl }) => el("img", { src: dataUrl, alt: name })),
      ),
    text !== "" && el("p", { class: "said" }, text),
  );
}

/** The reply of a model, during and after its stream. */
export class AnswerView {
  readonly element: HTMLElement;
  text = "";
  private readonly body = new MarkdownView();
  private readonly thought = el("p", { class: "said" });
  private readonly thinkingPart = el(
    "details",
    { class: "thinking" },
    el("summary", {}, t("chat.thinking")),
    this.thought,
  );
  private readonly problem = el("div", { role: "alert" });
  private readonly foot = el("div", { class: "turn-foot" });
  private frame = 0;

  constructor(model: string) {
    this.thinkingPart.hidden = true;
    this.element = el(
      "article",
      { class: "turn assistant busy", "aria-label": model, "aria-busy": true },
      el("p", { class: "turn-head" }, model),
      this.thinkingPart,
      this.body.element,
      this.problem,
      this.foot,
    );
  }

  /** Returns true once a part of the reply, or of its reasoning, has come. */
  get hasBegun(): boolean {
    return this.text !== "" || !this.thinkingPart.hidden;
  }

  addText(delta: string): void {
    this.text += delta;
    // Deltas arrive faster than the screen refreshes, so draw once per frame.
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  addThinking(delta: string): void {
    this.thinkingPart.hidden = false;
    this.thought.append(delta);
  }

  private draw(): void {
    this.frame = 0;
    this.body.show(this.text);
  }

  /** Ends the reply. `note` says why, if it was cut short. */
  end(note?: Child): void {
    cancelAnimationFrame(this.frame);
    this.draw();
    this.element.classList.remove("busy");
    this.element.setAttribute("aria-busy", "false");
    fill(
      this.foot,
      this.text !== "" && copyButton(t("chat.copy"), () => this.text),
      note !== undefined && badge("", note),
    );
  }

  /** Shows an error, and a link to the page that helps with it. */
  fail(error: unknown): void {
    fill(this.problem, notice("bad", failureContent(error)));
  }

  /**
   * Shows the cost of the call once it is recorded. Gives up after about 22 s and links to the
   * usage page.
   */
  async showCost(callId: string, signal: AbortSignal): Promise<void> {
    const cost = el("span", { class: "cost", role: "status" }, t("chat.cost.waiting"));
    this.foot.prepend(cost);
    for (const pause of COST_POLLS_MS) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (signal.aborted) return;
      try {
        const call = await get<CallRecord>(`/calls/${callId}`);
        cost.title = `${call.cost_vnd} đ`;
        fill(cost, el("strong", {}, vnd(call.cost_vnd)), ` · ${detail(call)}`);
        return;
      } catch {
        // Not recorded yet.
      }
    }
    fill(cost, el("a", { href: `${BASE}/usage` }, t("chat.cost.later")));
  }
}

/** Refusals of what was sent, of which the gateway's own words say more than the texts of these pages. */
const OF_REQUEST: readonly number[] = [400, 403, 404, 413];

function failureContent(error: unknown): Child {
  const { status, code, message } =
    error instanceof ApiError ? error : { status: 0, code: null, message: "" };
  if (status === 402) {
    const { text, link } = adviceOnMoney(code);
    return [el("p", {}, text), link];
  }
  return [
    el("p", {}, failureText(error)),
    OF_REQUEST.includes(status) &&
      message !== "" &&
      el("p", { class: "hint", lang: "en" }, message),
    (status === 401 || /^key_|_not_allowed$/.test(code ?? "")) &&
      el("a", { class: "button small", href: `${BASE}/keys` }, t("nav.keys")),
  ];
}

function detail(call: CallRecord): string {
  const { input_tokens, output_tokens, latency_ms } = call;
  const values = { input: number(input_tokens), output: number(output_tokens) };
  return `${t("chat.cost.tokens", values)} · ${seconds(latency_ms)}`;
}
