import { announce } from "../../../page-parts/browser/announce.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { ago, vnd } from "../../../page-parts/browser/format.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { textIfAny } from "../../../page-parts/browser/text.ts";
import { get } from "../api.ts";
import type { CallPage, Refused, RefusedCall } from "../contract.ts";
import { adviceOnMoney } from "../lack-of-money.ts";
import { BASE } from "../routes.ts";
import { t } from "../text.ts";

const POLL_MS = 3_000;
/** A customer who leaves the page open all day asks less often. */
const POLL_MS_LATER = 30_000;
const SOON_MS = 900_000;

/** Waits for a call of a key: says what came of the last one, and asks again while the page is shown. */
export function arrival(signal: AbortSignal): {
  readonly element: HTMLElement;
  watch(keyId: string): void;
} {
  const element = el("div", { class: "arrival" });
  const openedMs = Date.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let shown = "";

  const look = async (keyId: string): Promise<void> => {
    clearTimeout(timer);
    if (!document.hidden) {
      // Without a reply the last one stays.
      const found = await lastOf(keyId, openedMs).catch(() => undefined);
      if (signal.aborted || keyId !== watched) return;
      if (found && found.id !== shown) {
        shown = found.id;
        fill(element, found.content);
        if (found.id !== "") announce(element.textContent ?? "");
      }
    }
    const pause = Date.now() - openedMs < SOON_MS ? POLL_MS : POLL_MS_LATER;
    timer = setTimeout(() => void look(keyId), pause);
  };
  let watched = "";
  signal.addEventListener("abort", () => clearTimeout(timer));
  return {
    element,
    watch(keyId) {
      watched = keyId;
      shown = "";
      fill(element, waiting());
      void look(keyId);
    },
  };
}

/** Returns the newest of the key's calls and of those that were refused since `openedMs`. */
async function lastOf(keyId: string, openedMs: number): Promise<{ id: string; content: Child }> {
  const [{ data }, { last }] = await Promise.all([
    get<CallPage>("/usage", { key: keyId, limit: "1" }),
    get<Refused>("/usage/refused", { key: keyId }),
  ]);
  const call = data[0];
  const refused = last.find(({ at }) => Date.parse(at) >= openedMs);
  if (refused && (!call || refused.at > call.at)) {
    const cause = textIfAny(`cause.${refused.cause}`) ?? refused.cause;
    const content = notice(
      "bad",
      el("strong", {}, t("arrival.refused", { status: refused.status, cause })),
      el("p", {}, advice(refused)),
    );
    return { id: refused.call_id, content };
  }
  if (!call) return { id: "", content: waiting() };
  const content = notice(
    "good",
    el("strong", {}, t("arrival.came", { model: call.model, when: ago(call.at) })),
    el("p", {}, t("arrival.cost", { cost: vnd(call.cost_vnd) })),
    el("a", { href: `${BASE}/usage` }, t("overview.allcalls")),
  );
  return { id: call.call_id, content };
}

function advice({ status, cause }: RefusedCall): Child {
  if (status === 402) {
    const { text, link } = adviceOnMoney(cause);
    return link ?? text;
  }
  return textIfAny(`arrival.advice.${status}`) ?? t("arrival.advice");
}

function waiting(): HTMLElement {
  return el("p", { class: "pending" }, icon("clock"), t("arrival.waiting"));
}
