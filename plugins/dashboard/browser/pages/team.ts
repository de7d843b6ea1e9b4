import { toast } from "../../../page-parts/browser/announce.ts";
import { badge } from "../../../page-parts/browser/badge.ts";
import { closeButton, confirmed, openDialog } from "../../../page-parts/browser/dialog.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, field, form } from "../../../page-parts/browser/form.ts";
import { vnd } from "../../../page-parts/browser/format.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { hasEnded, limitFields, shownLimits } from "../../../page-parts/browser/key-limits.ts";
import { card, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import { go } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { orSayFailure } from "../../../page-parts/browser/say-failure.ts";
import { get, post } from "../api.ts";
import type { Member, Place } from "../contract.ts";
import { proved } from "../proof.ts";
import { BASE } from "../routes.ts";
import { currentAccount } from "../session.ts";
import { currentTeam, useTeam } from "../team.ts";
import { t } from "../text.ts";

/** A team whose members its reader may see and change. */
interface Led {
  readonly id: string;
  /** Undefined for one's own. */
  readonly ownerEmail: string | undefined;
}

export async function render({ root, signal }: PageContext): Promise<void> {
  const head = pageHead(t("nav.team"), t("team.lead"));
  fill(root, head, waiting());
  async function load(): Promise<void> {
    const { data: places } = await get<{ data: Place[] }>("/teams");
    const team = currentTeam();
    const place = places.find((one) => one.team === team?.id && one.state !== "invited");
    if (team && !place) return leaveWallet();
    const led = ledBy(place);
    const members = led ? (await get<{ data: Member[] }>(`/teams/${led.id}/members`)).data : [];
    if (signal.aborted) return;
    const isAlone = places.length === 0 && !team;
    fill(
      root,
      head,
      !isAlone && card(t("team.wallets"), walletList(places, load)),
      led && membersCard(led, members, load),
    );
  }
  await load();
}

/** Returns the team that the reader leads: one's own, or that of the wallet in use if one is its manager. */
function ledBy(place: Place | undefined): Led | undefined {
  if (!place) return { id: currentAccount()?.id ?? "", ownerEmail: undefined };
  return place.role === "manager" ? { id: place.team, ownerEmail: place.owner_email } : undefined;
}

/** Uses one's own wallet again. */
function leaveWallet(): void {
  useTeam(undefined);
  go(`${BASE}/team`);
}

function button(text: string, label: string, onclick: () => unknown, kind = ""): HTMLElement {
  const attributes = { type: "button", class: `small ${kind}`, "aria-label": label, onclick };
  return el("button", attributes, text);
}

let isChanging = false;

/** Runs a change, says that it is done and shows the page again; a failure is said too. A second tap does nothing. */
async function change(request: () => Promise<unknown>, done: string, reload: () => Promise<void>) {
  if (isChanging) return;
  isChanging = true;
  await orSayFailure(async () => {
    await proved(request);
    toast(done);
    await reload();
  });
  isChanging = false;
}

function walletList(places: readonly Place[], reload: () => Promise<void>): HTMLElement {
  const inUse = badge("good", t("team.inuse"));
  const own = el(
    "li",
    { class: "item" },
    el("div", { class: "item-main" }, el("strong", {}, t("team.own"))),
    currentTeam()
      ? button(t("team.use"), t("team.use.label", { email: t("team.own") }), leaveWallet)
      : inUse,
  );
  const isInUse = ({ team }: Place) => team === currentTeam()?.id;
  return el("ul", { class: "items" }, [
    own,
    ...places.map((place) =>
      el(
        "li",
        { class: "item", "data-team": place.team },
        el(
          "div",
          { class: "item-main" },
          el("strong", {}, place.owner_email),
          badgesOf(place),
          place.state !== "invited" && el("p", { class: "hint" }, spentText(place)),
          shownLimits(place),
        ),
        isInUse(place) && inUse,
        el("div", { class: "row" }, placeButtons(place, isInUse(place), reload)),
      ),
    ),
  ]);
}

function placeButtons(place: Place, isInUse: boolean, reload: () => Promise<void>): HTMLElement[] {
  const { team, owner_email: email } = place;
  const leave = () => change(() => post(`/teams/${team}/leave`), t("team.left", { email }), reload);
  if (place.state === "invited") {
    const join = () =>
      change(() => post(`/teams/${team}/join`), t("team.joined", { email }), reload);
    return [
      button(t("team.join"), t("team.join.label", { email }), join, "primary"),
      button(t("team.decline"), t("team.decline.label", { email }), leave),
    ];
  }
  const use = () => {
    useTeam({ id: team, ownerEmail: email });
    go(BASE);
  };
  const sure = async () => {
    const text = t("team.leave.text", { email });
    if (await confirmed(t("team.leave.title"), text, t("team.leave"))) await leave();
  };
  const ways = [button(t("team.leave"), t("team.leave.label", { email }), sure, "danger")];
  return isInUse ? ways : [button(t("team.use"), t("team.use.label", { email }), use), ...ways];
}

function membersCard(led: Led, members: readonly Member[], reload: () => Promise<void>) {
  const { ownerEmail } = led;
  const title = ownerEmail ? t("team.members.of", { email: ownerEmail }) : t("team.members");
  const list = members.map((member) => memberItem(led, member, reload));
  return card(
    title,
    list.length > 0
      ? el("ul", { class: "items" }, list)
      : el("div", { class: "empty" }, icon("team"), el("p", {}, t("team.members.none"))),
    el(
      "div",
      { class: "row" },
      el(
        "button",
        { type: "button", class: "primary", onclick: () => openInvitation(led, reload) },
        icon("plus"),
        t("team.invite"),
      ),
    ),
  );
}

function memberItem(led: Led, member: Member, reload: () => Promise<void>): HTMLElement {
  return el(
    "li",
    { class: "item", "data-member": member.id },
    el(
      "div",
      { class: "item-main" },
      el("strong", {}, member.email),
      badgesOf(member),
      el("p", { class: "hint" }, spentText(member)),
      shownLimits(member),
    ),
    el("div", { class: "row" }, memberButtons(led, member, reload)),
  );
}

function memberButtons(led: Led, member: Member, reload: () => Promise<void>): HTMLElement[] {
  const { id, email, limits, state } = member;
  const isOwner = led.ownerEmail === undefined;
  const path = `/teams/${led.id}/members/${id}`;
  const turn = limits.paused ? "resume" : "pause";
  const pause = () => {
    const wanted = { limits: { paused: !limits.paused } };
    return change(() => post(path, wanted), t(`team.${turn}.done`, { email }), reload);
  };
  const remove = async () => {
    const text = t("team.remove.text", { email });
    if (!(await confirmed(t("team.remove.title"), text, t("team.remove")))) return;
    await change(() => post(`${path}/remove`), t("team.removed", { email }), reload);
  };
  const changes = [
    button(t("keys.limits"), t("team.limits.label", { email }), () =>
      openLimits(path, member, isOwner, reload),
    ),
    button(t(`keys.${turn}`), t(`team.${turn}.label`, { email }), pause),
  ];
  return [
    ...(isOwner && state !== "invited" ? [usageLink(member)] : []),
    ...(isOwner || member.role === "member" ? changes : []),
    ...(isOwner
      ? [button(t("team.remove"), t("team.remove.label", { email }), remove, "danger")]
      : []),
  ];
}

function usageLink({ id, email }: Member): HTMLElement {
  const label = t("team.usage.label", { email });
  const href = `${BASE}/usage?member=${id}`;
  return el("a", { class: "button small", href, "aria-label": label }, t("team.usage"));
}

function badgesOf({ role, state, limits }: Member): HTMLElement {
  const kinds = { invited: "", active: "good", paused: "bad", removed: "" } as const;
  return el(
    "span",
    { class: "badges" },
    badge("", t(`team.role.${role}`)),
    badge(kinds[state], t(`team.state.${state}`)),
    hasEnded(limits) && badge("bad", t("keys.ended")),
  );
}

function spentText({ spent_today_vnd, spent_month_vnd }: Member): string {
  return t("team.spent", { today: vnd(spent_today_vnd), month: vnd(spent_month_vnd) });
}

function roleChoice(role: Member["role"]) {
  const roles = ["member", "manager"] as const;
  return choice(
    t("role"),
    roles.map((one) => [one, t(`team.role.${one}`)] as const),
    role,
  );
}

function openInvitation(led: Led, reload: () => Promise<void>): void {
  const isOwner = led.ownerEmail === undefined;
  const address = field(t("team.email"), {
    name: "email",
    type: "email",
    maxlength: 254,
    required: true,
    autocomplete: "off",
  });
  const role = roleChoice("member");
  const fields = limitFields();
  const submit = async () => {
    const email = address.input.value.trim();
    const wanted = { email, role: role.select.value, limits: fields.changed() };
    await proved(() => post(`/teams/${led.id}/members`, wanted));
    dialog.close();
    toast(t("team.invited", { email }));
    await reload();
  };
  const dialog = openDialog(
    t("team.invite"),
    form(
      t("team.invite.submit"),
      submit,
      address.element,
      isOwner && [role.element, el("p", { class: "hint" }, t("team.role.hint"))],
      el("details", {}, el("summary", {}, t("keys.limits.optional")), fields.element),
    ),
    closeButton(t("cancel"), "quiet"),
  );
}

function openLimits(
  path: string,
  { email, role, limits: before }: Member,
  isOwner: boolean,
  reload: () => Promise<void>,
): void {
  const fields = limitFields(before);
  const wantedRole = roleChoice(role);
  const submit = async () => {
    const limits = fields.changed();
    const newRole = wantedRole.select.value;
    const wanted = { limits, ...(newRole !== role && { role: newRole }) };
    if (Object.keys(limits).length === 0 && newRole === role) return dialog.close();
    await proved(() => post(path, wanted));
    dialog.close();
    toast(t("team.limits.saved", { email }));
    await reload();
  };
  const dialog = openDialog(
    t("team.limits.label", { email }),
    form(t("keys.limits.save"), submit, isOwner && wantedRole.element, fields.element),
    closeButton(t("cancel"), "quiet"),
  );
}
