import { toast } from "../../../page-parts/browser/announce.ts";
import { badge } from "../../../page-parts/browser/badge.ts";
import { copyButton } from "../../../page-parts/browser/copy.ts";
import { closeButton, confirmed, openDialog } from "../../../page-parts/browser/dialog.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { ago, date, dateTime, vnd } from "../../../page-parts/browser/format.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { hasEnded, limitFields, shownLimits } from "../../../page-parts/browser/key-limits.ts";
import { card, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { orSayFailure } from "../../../page-parts/browser/say-failure.ts";
import { get, post } from "../api.ts";
import type { Key, KeyList, Member, NewKey } from "../contract.ts";
import { proved } from "../proof.ts";
import { BASE } from "../routes.ts";
import { currentTeam } from "../team.ts";
import { ownMembers } from "../team-members.ts";
import { t } from "../text.ts";

export async function render({ root, signal }: PageContext): Promise<void> {
  const create = el(
    "button",
    { type: "button", class: "primary", onclick: () => openNewKey(load) },
    icon("plus"),
    t("keys.create"),
  );
  const active = el("div", {}, waiting());
  const revoked = el("div");
  const count = badge("");
  fill(
    root,
    pageHead(t("nav.keys"), t("keys.lead"), create),
    card([t("keys.active"), " ", count], active),
    revoked,
  );

  async function load(): Promise<void> {
    const { data, active_keys_max: max } = await get<KeyList>("/keys");
    const isOfMembers = data.some(({ member }) => member !== null);
    const members = isOfMembers ? await ownMembers() : [];
    if (signal.aborted) return;
    const inUse = data.filter((key) => key.status === "active");
    const past = data.filter((key) => key.status === "revoked");
    const own = inUse.filter(({ member }) => (member === null) === (currentTeam() === undefined));
    count.textContent = t("keys.count", { count: own.length, max });
    fill(active, inUse.length > 0 ? keyList(inUse, members, load) : empty());
    fill(revoked, past.length > 0 && pastKeys(past));
  }
  await load();
}

function empty(): HTMLElement {
  return el("div", { class: "empty" }, icon("keys"), el("p", {}, t("keys.empty")));
}

function keyList(
  keys: readonly Key[],
  members: readonly Member[],
  reload: () => Promise<void>,
): HTMLElement {
  const emails = new Map(members.map(({ id, email }) => [id, email]));
  return el(
    "ul",
    { class: "items" },
    keys.map((key) =>
      el(
        "li",
        { class: "item", "data-key": key.id },
        el(
          "div",
          { class: "item-main" },
          el("strong", {}, key.name),
          el("code", { class: "prefix" }, key.prefix),
          key.member !== null &&
            currentTeam() === undefined &&
            badge("", emails.get(key.member) ?? t("keys.ofmember")),
          key.limits.paused && badge("bad", t("keys.paused")),
          hasEnded(key.limits) && badge("bad", t("keys.ended")),
          el("p", { class: "hint" }, usedText(key)),
          shownLimits(key),
        ),
        spent(key),
        el(
          "div",
          { class: "row" },
          key.recoverable
            ? revealButtons(key)
            : el("span", { class: "hint" }, t("keys.notrecoverable")),
          limitButtons(key, reload),
          el(
            "button",
            {
              type: "button",
              class: "small danger",
              "aria-label": t("keys.revoke.label", { name: key.name }),
              onclick: () => revoke(key, reload),
            },
            t("keys.revoke"),
          ),
        ),
      ),
    ),
  );
}

function spent({ cost_vnd }: Key): HTMLElement {
  return el(
    "div",
    { class: "item-figure", title: `${cost_vnd} đ` },
    el("span", { class: "hint" }, t("keys.spent"), " "),
    vnd(cost_vnd),
  );
}

function usedText(key: Key): string {
  const created = t("keys.created", { date: date(key.created_at) });
  const used = key.last_used_at
    ? t("keys.used", { when: ago(key.last_used_at) })
    : t("keys.neverused");
  return `${created} · ${used}`;
}

function revealButtons(key: Key): HTMLElement[] {
  const reveal = async () =>
    (await proved(() => post<{ key: string }>(`/keys/${key.id}/reveal`))).key;
  const show = () =>
    orSayFailure(async () =>
      openKeyDialog(key.name, await reveal(), "info", t("keys.reveal.text")),
    );
  return [
    copyButton(t("keys.copy.label", { name: key.name }), reveal),
    el(
      "button",
      {
        type: "button",
        class: "small",
        "aria-label": t("keys.show.label", { name: key.name }),
        onclick: show,
      },
      icon("eye"),
      t("keys.show"),
    ),
  ];
}

function button(text: string, label: string, onclick: () => unknown): HTMLElement {
  return el("button", { type: "button", class: "small", "aria-label": label, onclick }, text);
}

function limitButtons(key: Key, reload: () => Promise<void>): HTMLElement[] {
  const { name, limits } = key;
  const turn = limits.paused ? "resume" : "pause";
  return [
    button(t("keys.limits"), t("keys.limits.label", { name }), () => openLimits(key, reload)),
    button(t(`keys.${turn}`), t(`keys.${turn}.label`, { name }), () => pause(key, reload)),
  ];
}

function pause({ id, name, limits }: Key, reload: () => Promise<void>): Promise<void> {
  const paused = !limits.paused;
  return orSayFailure(async () => {
    await proved(() => post(`/keys/${id}/limits`, { paused }));
    toast(t(paused ? "keys.pause.done" : "keys.resume.done", { name }));
    await reload();
  });
}

function openLimits({ id, name, limits }: Key, reload: () => Promise<void>): void {
  const fields = limitFields(limits);
  const submit = async () => {
    const changed = fields.changed();
    if (Object.keys(changed).length === 0) return dialog.close();
    await proved(() => post(`/keys/${id}/limits`, changed));
    dialog.close();
    toast(t("keys.limits.saved", { name }));
    await reload();
  };
  const dialog = openDialog(
    t("keys.limits.label", { name }),
    form(t("keys.limits.save"), submit, fields.element),
    closeButton(t("cancel"), "quiet"),
  );
}

async function revoke(key: Key, reload: () => Promise<void>): Promise<void> {
  const text = t("keys.revoke.text", { name: key.name });
  if (!(await confirmed(t("keys.revoke.title"), text, t("keys.revoke")))) return;
  await orSayFailure(async () => {
    await post(`/keys/${key.id}/revoke`);
    toast(t("keys.revoked", { name: key.name }));
    await reload();
  });
}

function openNewKey(reload: () => Promise<void>): void {
  const name = field(
    t("keys.name"),
    { name: "name", maxlength: 100, required: true, autocomplete: "off" },
    t("keys.name.hint"),
  );
  const fields = limitFields();
  const limits = el("details", {}, el("summary", {}, t("keys.limits.optional")), fields.element);
  const submit = async () => {
    const wanted = { name: name.input.value, limits: fields.changed() };
    const made = await proved(() => post<NewKey>("/keys", wanted));
    dialog.close();
    openKeyDialog(made.name, made.key, "good", t("keys.made.text"));
    await reload();
  };
  const dialog = openDialog(
    t("keys.create"),
    form(t("keys.create.submit"), submit, name.element, limits),
    closeButton(t("cancel"), "quiet"),
  );
}

function openKeyDialog(name: string, text: string, kind: "good" | "info", note: string): void {
  const copy = copyButton(t("keys.copy.label", { name }), () => text);
  const dialog = openDialog(
    name,
    notice(kind, note),
    el("code", { class: "secret", "data-secret": true }, text),
    el(
      "div",
      { class: "row end" },
      el(
        "a",
        { class: "button", href: `${BASE}/how-to`, onclick: () => dialog.close() },
        t("nav.howto"),
      ),
      copy,
      closeButton(t("done"), "primary"),
    ),
  );
  // A second Enter copies, and does not leave the page without the key.
  copy.focus();
}

function pastKeys(keys: readonly Key[]): HTMLElement {
  return el(
    "details",
    { class: "card" },
    el("summary", {}, t("keys.past", { count: keys.length })),
    el(
      "ul",
      { class: "items" },
      keys.map((key) =>
        el(
          "li",
          { class: "item past" },
          el(
            "div",
            { class: "item-main" },
            el("strong", {}, key.name),
            el("code", { class: "prefix" }, key.prefix),
            el(
              "p",
              { class: "hint" },
              t("keys.revokedat", { date: dateTime(key.revoked_at ?? "") }),
            ),
          ),
          spent(key),
        ),
      ),
    ),
  );
}
