import { copyButton } from "../../../page-parts/browser/copy.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, form, notice } from "../../../page-parts/browser/form.ts";
import { card, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { segments } from "../../../page-parts/browser/segments.ts";
import { textIfAny } from "../../../page-parts/browser/text.ts";
import { get, post } from "../api.ts";
import type { Catalogue, Model } from "../contract.ts";
import { arrival } from "../how-to/arrival.ts";
import {
  addressFor,
  type Client,
  clients,
  GROUPS,
  type Part,
  type Place,
  SYSTEMS,
  type System,
} from "../how-to/clients.ts";
import { offerModels } from "../offer-models.ts";
import { keyText, knownText, usableKeys } from "../own-keys.ts";
import { hasPlugin } from "../plugins.ts";
import { proved } from "../proof.ts";
import { BASE } from "../routes.ts";
import { currentAccount } from "../session.ts";
import { t } from "../text.ts";

/** Models for the background work of an agent. */
const SMALL = /^claude-haiku-/;
const NO_KEY = "<API_KEY>";

/** Choose a key, a model and a client; then copy its setup, and see the first call arrive. */
export async function render(context: PageContext): Promise<void> {
  const { root, signal } = context;
  fill(root, pageHead(t("nav.howto"), t("howto.lead")), waiting());
  const isCustomer = currentAccount() !== undefined;
  const [{ models, popular }, keys] = await Promise.all([
    get<Catalogue>("/catalogue"),
    isCustomer ? usableKeys() : [],
  ]);
  if (signal.aborted) return;
  const ids = chatModels(models, popular);
  const model = choice(t("model"), []);
  const key = choice(
    t("calls.key"),
    keys.map(({ id, name, prefix }) => [id, `${name} (${prefix}…)`] as const),
  );
  const offer = () =>
    offerModels(
      model.select,
      ids,
      keys.find(({ id }) => id === key.select.value),
    );
  offer();
  const images = models.find(({ standard }) => standard === "images")?.id;
  const speech = models.find(({ standard }) => standard === "speech")?.id;
  const asked = new URLSearchParams(location.search);
  let chosen = clients.find(({ id }) => id === asked.get("client")) ?? clients[0];
  const systems = segments(
    t("howto.system"),
    SYSTEMS,
    (one) => t(`howto.system.${one}`),
    () => remember(),
    { chosen: SYSTEMS.find((one) => one === asked.get("system")) ?? ownSystem() },
  );
  const setup = el("div", { class: "stack" });
  const call = arrival(signal);

  /** The customer gave no password, or the key could not be read: only the button asks again. */
  let isWithheld = false;
  const readKey = async (id: string): Promise<string> => {
    if (id === "" || isWithheld) return knownText(id) ?? NO_KEY;
    try {
      return await keyText(id);
    } catch {
      isWithheld = true;
      return NO_KEY;
    }
  };
  const fillIn = () => {
    isWithheld = false;
    void show();
  };
  const show = async () => {
    const client = chosen;
    // The lines keep the place of a key that cannot be read now.
    const text = await readKey(key.select.value);
    if (signal.aborted || client !== chosen || !client) return;
    const place: Place = {
      name: document.documentElement.dataset["service"] ?? "",
      base: location.origin,
      key: text,
      model: model.select.value,
      background:
        Array.from(model.select.options, ({ value }) => value).find((id) => SMALL.test(id)) ??
        model.select.value,
      images,
      speech,
    };
    const parts = client.parts(place, systems.value());
    systems.element.hidden = parts.every(({ kind }) => kind === "form");
    const again = el("button", { type: "button", onclick: fillIn }, t("howto.fillin"));
    fill(setup, isWithheld && text === NO_KEY && again, setupOf(client, place, parts));
  };
  const remember = () => {
    const kept = new URLSearchParams({ client: chosen?.id ?? "", system: systems.value() });
    history.replaceState(null, "", `?${kept}`);
    void show();
  };
  const choose = (id: string) => {
    chosen = clients.find((one) => one.id === id);
    remember();
  };
  model.select.addEventListener("change", () => void show());
  key.select.addEventListener("change", () => {
    call.watch(key.select.value);
    offer();
    void show();
  });
  const sold = clients
    .filter(({ id }) => id !== "images" || images)
    .filter(({ id }) => id !== "speech" || speech);
  fill(
    root,
    pageHead(t("nav.howto"), t("howto.lead")),
    card(
      t("howto.step.key"),
      el("div", { class: "grid two" }, keys.length > 0 && key.element, model.element),
      keys.length === 0 && (isCustomer ? makeKey(context) : signInHint()),
    ),
    card(
      t("howto.step.client"),
      GROUPS.map((group) => clientChips(group, sold, chosen, choose)),
      systems.element,
      setup,
    ),
    keys.length > 0 && card(t("howto.step.call"), call.element),
    addresses(),
    references(),
  );
  if (keys.length > 0) call.watch(key.select.value);
  await show();
}

function clientChips(
  group: Client["group"],
  sold: readonly Client[],
  chosen: Client | undefined,
  choose: (id: string) => void,
): HTMLElement | null {
  const [first, ...others] = sold.filter((one) => one.group === group);
  if (!first) return null;
  const nameOf = (id: string) =>
    textIfAny(`howto.client.${id}`) ?? sold.find((one) => one.id === id)?.name ?? id;
  return segments<string>(
    t(`howto.group.${group}`),
    [first.id, ...others.map(({ id }) => id)],
    nameOf,
    choose,
    { chosen: chosen?.id ?? "", name: "client", isChips: true },
  ).element;
}

function setupOf(client: Client, { base, key }: Place, parts: readonly Part[]): HTMLElement[] {
  const note = textIfAny(`howto.note.${client.id}`);
  const lacksKey = key === NO_KEY && parts.some(({ code }) => code.includes(NO_KEY));
  return [
    ...parts.map((part) => partView(client, part)),
    el(
      "p",
      { class: "hint" },
      note !== undefined && `${note} `,
      t("howto.uses", { address: addressFor(client, base) }),
      lacksKey && ` ${t("howto.replace")}`,
    ),
  ];
}

function partView({ name }: Client, { kind, file = "", code, isAlternative }: Part): HTMLElement {
  const title = isAlternative ? t("howto.part.keep", { file }) : t(`howto.part.${kind}`, { file });
  return el(
    "section",
    { class: "snippet", "data-kind": kind },
    el(
      "div",
      { class: "row spread" },
      el("h3", {}, title),
      copyButton(t("copy.named", { name: `${name}, ${title}` }), () => code),
    ),
    el("pre", { tabindex: 0, role: "region", "aria-label": title }, el("code", {}, code)),
  );
}

function makeKey(context: PageContext): HTMLElement {
  const make = async () => {
    await proved(() => post("/keys", { name: t("howto.keyname") }));
    await render(context);
  };
  return form(t("keys.create"), make, el("p", {}, t("howto.nokey")));
}

function signInHint(): HTMLElement {
  const next = encodeURIComponent(location.pathname + location.search);
  return notice(
    "info",
    t("howto.visitor"),
    " ",
    el("a", { href: `${BASE}/sign-in?next=${next}` }, t("signin.title")),
  );
}

function addresses(): HTMLElement {
  const address = (name: string, value: string) =>
    el(
      "div",
      {},
      el("dt", {}, name),
      el(
        "dd",
        {},
        el("code", {}, value),
        copyButton(t("copy.named", { name }), () => value),
      ),
    );
  return el(
    "details",
    { class: "card" },
    el("summary", {}, t("howto.address")),
    el(
      "dl",
      { class: "transfer" },
      address(t("howto.messages"), location.origin),
      address(t("howto.chat"), `${location.origin}/v1`),
    ),
    el("p", {}, t("howto.wrong")),
  );
}

/** For programmers: what the API takes and returns. The plugin `by-key` serves it. */
function references(): HTMLElement | false {
  const link = (path: string, text: string) => el("a", { href: path, target: "_blank" }, text);
  return (
    hasPlugin("by-key") &&
    el(
      "p",
      { class: "hint" },
      link("/openapi.json", t("howto.openapi")),
      " · ",
      link("/errors.md", t("howto.errors")),
    )
  );
}

/** Ids of the models that chat, the popular ones first. */
function chatModels(models: readonly Model[], popular: readonly string[]): string[] {
  const isChat = ({ standard }: Model) => standard === "messages" || standard === "chat";
  const ids = models.filter(isChat).map(({ id }) => id);
  return [...new Set([...popular, ...ids])].filter((id) => ids.includes(id));
}

/** Most developers on Windows use PowerShell. */
function ownSystem(): System {
  return navigator.userAgent.includes("Windows") ? "powershell" : "bash";
}
