import { toast } from "../../../page-parts/browser/announce.ts";
import { badge } from "../../../page-parts/browser/badge.ts";
import { confirmed } from "../../../page-parts/browser/dialog.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, form } from "../../../page-parts/browser/form.ts";
import { ago, date } from "../../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import { go, show } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { orSayFailure } from "../../../page-parts/browser/say-failure.ts";
import { pairs } from "../../../page-parts/browser/table.ts";
import { currentLanguage } from "../../../page-parts/browser/text.ts";
import { currentTheme, setTheme, themes } from "../../../page-parts/browser/theme.ts";
import { get, post, remove } from "../api.ts";
import type { Session } from "../contract.ts";
import { currentPassword } from "../current-password.ts";
import { messagesCard } from "../messages.ts";
import { newPassword } from "../new-password.ts";
import { BASE } from "../routes.ts";
import { secondFactorCard } from "../second-factor.ts";
import { chooseLanguage, currentAccount, forgetAccount } from "../session.ts";
import { t } from "../text.ts";

export async function render({ root, signal }: PageContext): Promise<void> {
  const sessions = el("div", {});
  const load = () =>
    loadInto(sessions, signal, async () => {
      const { data } = await get<{ data: Session[] }>("/sessions");
      return sessionList(data, load);
    });
  fill(
    root,
    pageHead(t("nav.account"), currentAccount()?.email ?? ""),
    el("div", { class: "grid two" }, about(), appearance()),
    card(t("account.password"), passwordForm()),
    secondFactorCard(signal),
    messagesCard(signal),
    card(
      t("account.sessions"),
      el("p", { class: "hint" }, t("account.sessions.hint")),
      sessions,
      signOutEverywhere(),
    ),
  );
  await load();
}

function about(): HTMLElement {
  const account = currentAccount();
  if (!account) throw new Error("the account page needs a signed-in customer");
  return card(
    t("account.about"),
    pairs([
      [t("email"), account.email],
      [t("account.verified"), account.email_verified ? t("yes") : t("no")],
      [t("account.since"), date(account.created_at)],
    ]),
  );
}

function appearance(): HTMLElement {
  const language = choice(
    t("language"),
    [
      ["vi", "Tiếng Việt"],
      ["en", "English"],
    ],
    currentLanguage(),
  );
  language.select.addEventListener("change", async () => {
    await orSayFailure(() => chooseLanguage(language.select.value === "en" ? "en" : "vi"));
    await show();
  });
  const theme = choice(
    t("theme"),
    themes.map((one) => [one, t(`theme.${one}`)] as const),
    currentTheme(),
  );
  theme.select.addEventListener("change", () => {
    setTheme(themes.find((one) => one === theme.select.value) ?? "auto");
  });
  return card(
    t("account.appearance"),
    el("div", { class: "stack" }, language.element, theme.element),
  );
}

function passwordForm(): HTMLElement {
  const current = currentPassword();
  const next = newPassword(t("password.new"));
  const submit = async () => {
    await post("/password/change", { current: current.input.value, password: next.input.value });
    current.input.value = "";
    next.input.value = "";
    toast(t("account.password.done"));
  };
  return form(
    t("account.password"),
    submit,
    el("div", { class: "grid two" }, current.element, next.element),
  );
}

function sessionList(sessions: readonly Session[], reload: () => Promise<void>): HTMLElement {
  const end = (session: Session) =>
    orSayFailure(async () => {
      await remove(`/sessions/${session.id}`);
      await reload();
    });
  return el(
    "ul",
    { class: "items" },
    sessions.map((session) =>
      el(
        "li",
        { class: "item" },
        el(
          "div",
          { class: "item-main" },
          el("strong", {}, browserName(session.user_agent)),
          session.current && badge("good", t("account.thissession")),
          el(
            "p",
            { class: "hint" },
            [session.remote_address, seen(session)].filter(Boolean).join(" · "),
          ),
        ),
        !session.current &&
          el(
            "button",
            { type: "button", class: "small danger", onclick: () => end(session) },
            t("account.endsession"),
          ),
      ),
    ),
  );
}

function seen({ current, last_seen_at }: Session): string {
  return current ? t("account.seen.now") : t("account.seen", { when: ago(last_seen_at) });
}

function signOutEverywhere(): HTMLElement {
  const signOut = async () => {
    const title = t("account.everywhere");
    if (!(await confirmed(title, t("account.everywhere.text"), title))) return;
    await orSayFailure(async () => {
      await post("/sign-out-everywhere");
      forgetAccount();
      go(`${BASE}/sign-in`);
    });
  };
  return el(
    "p",
    {},
    el("button", { type: "button", class: "danger", onclick: signOut }, t("account.everywhere")),
  );
}

const BROWSERS = [
  ["Edg/", "Edge"],
  ["OPR/", "Opera"],
  ["coc_coc", "Cốc Cốc"],
  ["Firefox/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"],
] as const;
const SYSTEMS = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"] as const;

/** Returns browser and system, such as "Chrome, Android", so that customers recognise their own. */
function browserName(userAgent: string | null): string {
  const agent = userAgent ?? "";
  const browser = BROWSERS.find(([sign]) => agent.includes(sign))?.[1];
  const system = SYSTEMS.find((name) => agent.includes(name));
  if (!browser && !system) return agent.slice(0, 60) || t("account.unknownbrowser");
  return [browser, system].filter((name) => name !== undefined).join(", ");
}
