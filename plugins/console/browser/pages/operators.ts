import { badge } from "../../../page-parts/browser/badge.ts";
import { copyButton } from "../../../page-parts/browser/copy.ts";
import { closeButton, closeDialogs, openDialog } from "../../../page-parts/browser/dialog.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, field, notice } from "../../../page-parts/browser/form.ts";
import { ago, dateTime } from "../../../page-parts/browser/format.ts";
import { loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { openChange } from "../change.ts";
import { commandText } from "../command-line.ts";
import { section, smallButton } from "../section.ts";
import { get, may, ownName, post } from "../session.ts";
import { t } from "../text.ts";

const ROLES = ["viewer", "support", "finance", "operations", "owner"] as const;
type Role = (typeof ROLES)[number];

interface Person {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly state: "invited" | "active";
  readonly second_factor: boolean;
  readonly seen_at: string | null;
}

interface Token {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly made_by: string;
  readonly ends_at: string;
  readonly revoked_at: string | null;
}

type Done = () => Promise<void>;

/** People with their roles, and the tokens of programs. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const place = el("div", { class: "grid" });
  const load = () =>
    loadInto(place, signal, async () => {
      const [people, tokens] = await Promise.all([
        get<Person[]>("/operators"),
        get<Token[]>("/tokens"),
      ]);
      return [peopleCard(people, load), tokensCard(tokens, load)];
    });
  fill(
    root,
    pageHead(
      t("nav.operators"),
      t("operators.lead"),
      may("owner") && [
        el("button", { type: "button", onclick: () => openInvite(load) }, t("operators.invite")),
        el("button", { type: "button", onclick: () => openToken(load) }, t("tokens.create")),
      ],
    ),
    place,
  );
  await load();
}

function peopleCard(people: readonly Person[], done: Done): HTMLElement {
  return section<Person>({
    title: t("operators.people"),
    rows: people,
    columns: [
      { title: t("email"), cell: ({ email }) => email },
      { title: t("role"), cell: ({ role }) => t(`role.${role}`) },
      {
        title: t("customers.state"),
        cell: ({ state, second_factor }) => [
          badge(state === "active" ? "good" : "info", t(`operators.${state}`)),
          state === "active" && !second_factor && [" ", badge("info", t("operators.nofactor"))],
        ],
      },
      {
        title: t("operators.seen"),
        cell: ({ seen_at }) => (seen_at === null ? "–" : ago(seen_at)),
      },
      {
        title: t("actions"),
        cell: (person) =>
          may("owner") &&
          el(
            "span",
            { class: "row" },
            smallButton(t("role"), person.email, () => openRole(person, done)),
            smallButton(t("operators.reset"), person.email, () => openReset(person, done)),
            smallButton(t("operators.remove"), person.email, () => openRemove(person, done)),
          ),
      },
    ],
    none: t("operators.none"),
    file: "operators",
    command: commandText("operator list"),
  });
}

function tokensCard(tokens: readonly Token[], done: Done): HTMLElement {
  return section<Token>({
    title: t("tokens.title"),
    rows: tokens,
    columns: [
      { title: t("key.name"), cell: ({ name }) => name },
      { title: t("role"), cell: ({ role }) => t(`role.${role}`) },
      { title: t("tokens.by"), cell: ({ made_by }) => made_by },
      { title: t("tokens.ends"), cell: ({ ends_at }) => dateTime(ends_at) },
      {
        title: t("actions"),
        cell: (token) => {
          if (token.revoked_at !== null) return badge("info", t("state.revoked"));
          return (
            may("owner") &&
            smallButton(t("keys.revoke"), token.name, () => openRevokeToken(token, done))
          );
        },
      },
    ],
    none: t("tokens.none"),
    file: "tokens",
    command: commandText("token list"),
  });
}

/** A choice of the role, as a field of a form. */
function roleField(selected: Role) {
  const options = ROLES.map(
    (role) => [role, `${t(`role.${role}`)}: ${t(`role.${role}.may`)}`] as const,
  );
  return choice(t("role"), options, selected);
}

/** Sends a change, and shows a secret of the reply, which no one sees again. */
function showing(field: "link" | "token", done: Done) {
  return async (path: string, body: object) => {
    const reply = await post<Readonly<Record<string, string>>>(path, body);
    const secret = reply[field] ?? "";
    closeDialogs();
    const dialog = openDialog(
      t(`operators.${field}`),
      notice("good", t(`operators.${field}.text`)),
      el("code", { class: "secret", "data-secret": true }, secret),
      el(
        "div",
        { class: "row end" },
        copyButton(t("copy"), () => secret),
        closeButton(),
      ),
    );
    // Of an owner who has reset himself, the next request ends the session, and with it the dialog.
    dialog.addEventListener("close", () => void done());
  };
}

function openInvite(done: Done): void {
  const email = field(t("email"), { type: "email", required: true, maxlength: 254 });
  const role = roleField("viewer");
  openChange({
    title: t("operators.invite"),
    about: role.element,
    fields: [email],
    path: "/operators",
    command: "operator invite",
    given: () => ({ email: email.input.value.trim(), role: role.select.value }),
    send: showing("link", done),
  });
}

function openRole(person: Person, done: Done): void {
  const role = roleField(person.role);
  openChange({
    title: t("role"),
    about: [el("p", {}, el("strong", {}, person.email)), role.element],
    fields: [],
    path: pathOf(person, "role"),
    command: "operator role",
    of: { operator: person.email },
    given: () => ({ role: role.select.value }),
    action: t("operators.setrole"),
    done,
  });
}

function openReset(person: Person, done: Done): void {
  openChange({
    title: t("operators.reset"),
    about: el(
      "p",
      {},
      t("operators.reset.about", { email: person.email }),
      person.email === ownName() && ` ${t("operators.reset.own")}`,
    ),
    fields: [],
    path: pathOf(person, "reset"),
    command: "operator reset",
    of: { operator: person.email },
    send: showing("link", done),
    isDangerous: true,
  });
}

function openRemove(person: Person, done: Done): void {
  openChange({
    title: t("operators.remove"),
    about: el("p", {}, t("operators.remove.about", { email: person.email })),
    fields: [],
    path: pathOf(person, "remove"),
    command: "operator remove",
    of: { operator: person.email },
    isDangerous: true,
    done,
  });
}

function openToken(done: Done): void {
  const name = field(
    t("key.name"),
    { required: true, maxlength: 40, pattern: "[a-z0-9][a-z0-9\\-]*" },
    t("tokens.name.hint"),
  );
  const days = field(t("tokens.days"), {
    type: "number",
    min: 1,
    max: 400,
    value: 90,
    required: true,
  });
  const role = roleField("viewer");
  openChange({
    title: t("tokens.create"),
    about: role.element,
    fields: [name, days],
    path: "/tokens",
    command: "token create",
    given: () => ({
      name: name.input.value.trim(),
      role: role.select.value,
      days: Number(days.input.value),
    }),
    send: showing("token", done),
  });
}

function openRevokeToken({ name }: Token, done: Done): void {
  openChange({
    title: t("keys.revoke"),
    about: el("p", {}, t("tokens.revoke.about", { name })),
    fields: [],
    path: `/tokens/${name}/revoke`,
    command: "token revoke",
    of: { name },
    isDangerous: true,
    done,
  });
}

function pathOf({ id }: Person, change: string): string {
  return `/operators/${id}/${change}`;
}
