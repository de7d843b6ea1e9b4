import { announce } from "../../../page-parts/browser/announce.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, form } from "../../../page-parts/browser/form.ts";
import { factorsText, priceText } from "../../../page-parts/browser/format.ts";
import { allowsModel } from "../../../page-parts/browser/key-limits.ts";
import { onDemand } from "../../../page-parts/browser/on-demand.ts";
import { card, failed, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { get } from "../api.ts";
import { composer } from "../chat/composer.ts";
import { askModel, isAbort, type Turn } from "../chat/stream.ts";
import type { Catalogue, Key, Model } from "../contract.ts";
import { offerModels } from "../offer-models.ts";
import { keyText, makeOwnKey, usableKeys } from "../own-keys.ts";
import { t } from "../text.ts";

export async function render(context: PageContext): Promise<void> {
  const { root, signal } = context;
  fill(root, pageHead(t("nav.chat"), t("chat.lead")), waiting());
  const [catalogue, usable] = await Promise.all([get<Catalogue>("/catalogue"), usableKeys()]);
  if (signal.aborted) return;
  const models = chatModels(catalogue);
  // This browser's address may be none of those that a key allows.
  const keys = usable.filter(
    ({ limits }) => !limits.addresses && models.some(({ id }) => allowsModel(limits, id)),
  );
  if (keys.length > 0) return conversation(context, models, keys);
  const make = async () => {
    await makeOwnKey();
    await render(context);
  };
  fill(
    root,
    pageHead(t("nav.chat"), t("chat.lead")),
    card(
      t("chat.nokey.title"),
      el("p", {}, t("chat.nokey.text")),
      form(t("chat.nokey.make"), make),
    ),
  );
}

/** The Markdown of replies takes 40 KB of scripts, which the page does not wait for. */
const messageViews = () => onDemand(import("../chat/message-view.ts"));

/** Keeps the conversation in memory only: neither the browser nor the gateway stores it. */
function conversation(
  { root, signal }: PageContext,
  models: readonly Model[],
  keys: readonly Key[],
): void {
  const model = choice(t("model"), []);
  const key = choice(
    t("calls.key"),
    keys.map(({ id, name }) => [id, name] as const),
  );
  const price = el("p", { class: "hint price" });
  const log = el("div", {
    class: "turns",
    role: "log",
    "aria-live": "off",
    "aria-label": t("nav.chat"),
  });
  const problem = el("div", { role: "alert" });
  let turns: Turn[] = [];
  let running: AbortController | undefined;
  const current = () => models.find(({ id }) => id === model.select.value);

  const input = composer({
    send: (turn, sent) => void answer(turn, sent),
    stop: () => running?.abort(),
  });
  const modelChanged = () => {
    const chosen = current();
    const parts = chosen ? [priceText(chosen), factorsText(chosen.price_factors)] : [];
    price.textContent = parts.filter((part) => part !== "").join(" · ");
    input.allowImages(chosen?.labels.includes("vision") ?? false);
  };
  const keyChanged = () => {
    const ids = models.map(({ id }) => id);
    offerModels(
      model.select,
      ids,
      keys.find(({ id }) => id === key.select.value),
    );
    modelChanged();
  };
  model.select.addEventListener("change", modelChanged);
  key.select.addEventListener("change", keyChanged);
  keyChanged();
  const clear = () => {
    running?.abort();
    turns = [];
    fill(log, welcome());
    input.focus();
  };
  signal.addEventListener("abort", () => running?.abort());
  fill(log, welcome());
  fill(
    root,
    el(
      "div",
      { class: "chat" },
      el(
        "div",
        { class: "chat-head" },
        el("h1", {}, t("nav.chat")),
        model.element,
        key.element,
        el("button", { type: "button", class: "small", onclick: clear }, t("chat.clear")),
        price,
      ),
      log,
      problem,
      input.element,
    ),
  );
  input.focus();
  messageViews().catch(() => {});

  async function answer(turn: Turn, sent: () => void): Promise<void> {
    fill(problem);
    input.setBusy(true);
    try {
      const views = await messageViews();
      if (signal.aborted) return;
      sent();
      await exchange(turn, views);
    } catch (error) {
      fill(
        problem,
        failed(error, () => location.reload()),
      );
    } finally {
      input.setBusy(false);
    }
  }

  async function exchange(
    turn: Turn,
    { AnswerView, questionView }: Awaited<ReturnType<typeof messageViews>>,
  ): Promise<void> {
    log.querySelector(".welcome")?.remove();
    // A reply that is stopped by a new conversation belongs to the old one.
    const ofThis = turns;
    ofThis.push(turn);
    const view = new AnswerView(model.select.value);
    log.append(questionView(turn), view.element);
    view.element.scrollIntoView({ block: "end" });
    const abort = new AbortController();
    running = abort;
    let callId = "";
    let hasFailed = false;
    try {
      const text = await keyText(key.select.value);
      const listener = {
        callId: (id: string) => {
          callId = id;
        },
        text: (delta: string) => {
          view.addText(delta);
          follow(view.element);
        },
        thinking: (delta: string) => view.addThinking(delta),
      };
      await askModel(text, model.select.value, ofThis, listener, abort.signal);
      view.end();
      announce(t("chat.answered"));
    } catch (error) {
      hasFailed = !isAbort(error);
      view.end(hasFailed ? undefined : t("chat.stopped"));
      if (hasFailed) view.fail(error);
    }
    if (view.text !== "") ofThis.push({ role: "assistant", text: view.text, images: [] });
    // A question that a stop left without a reply stays.
    else if (hasFailed || !view.hasBegun) ofThis.pop();
    if (!signal.aborted && callId !== "" && view.hasBegun) void view.showCost(callId, signal);
  }
}

/** Scrolls along if the end of the reply is in view. Stays put if the reader has scrolled up. */
function follow(element: HTMLElement): void {
  const { bottom } = element.getBoundingClientRect();
  if (bottom - innerHeight < 240) element.scrollIntoView({ block: "end" });
}

function chatModels({ models, popular }: Catalogue): Model[] {
  const chat = models.filter(({ standard }) => standard === "messages" || standard === "chat");
  const rank = ({ id }: Model) => (popular.includes(id) ? popular.indexOf(id) : popular.length);
  return chat.sort((a, b) => rank(a) - rank(b));
}

function welcome(): HTMLElement {
  return el(
    "div",
    { class: "empty welcome" },
    el("p", {}, t("chat.welcome")),
    el("p", { class: "hint" }, t("chat.private")),
  );
}
