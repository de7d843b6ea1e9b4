import {
  done,
  email,
  isRefusal,
  mapping,
  matching,
  type OperatorRoute,
  oneOf,
  type Refusal,
  reading,
  refuse,
  roles,
  v,
  whole,
} from "../../core/plugin/index.ts";
import type { People, Person } from "./people.ts";
import { type NamedToken, TOKENS_MAX, type Tokens } from "./tokens.ts";

const NAME = "a name of 1 to 40 lower-case letters, digits and hyphens";
const DAYS = "a whole number of days from 1 to 400";
const DAYS_STANDARD = 90;

const role = oneOf(roles.names);
const invitation = mapping({ email, role });
const change = mapping({ role });
const newToken = mapping({
  name: matching(/^[a-z0-9][a-z0-9-]{0,39}$/, NAME),
  role,
  days: v.optional(whole(1, 400, DAYS), DAYS_STANDARD),
});

/** Routes that manage operators and the tokens of programs. `linkOf`: the address of the page that takes an invitation's token. */
export function operatorRoutes(
  people: People,
  tokens: Tokens,
  linkOf: (token: string) => string,
): OperatorRoute[] {
  const personIn = async ({ operator = "" }: Readonly<Record<string, string>>) =>
    (await people.find(operator)) ?? unknown();

  return [
    {
      method: "GET",
      path: "/me",
      async handle(_, operator) {
        const { name, role, person } = operator;
        return done({ name, role, rights: roles.of(role), is_person: name === person });
      },
    },
    {
      method: "GET",
      path: "/operators",
      async handle() {
        return done((await people.list()).map(shown));
      },
    },
    {
      method: "POST",
      path: "/operators",
      right: "owner",
      handle: reading(invitation, async (wanted) => {
        const token = await people.invite(wanted.email, wanted.role);
        if (token !== undefined) return done({ ...wanted, link: linkOf(token) }, 201);
        return refuse.conflict(
          "There is an operator with this address. `operator reset` makes a new link.",
          {
            code: "email_taken",
            param: "email",
          },
        );
      }),
    },
    {
      method: "POST",
      path: "/operators/:operator/role",
      right: "owner",
      handle: reading(change, async (wanted, { params }) => {
        const person = await personIn(params);
        if (isRefusal(person)) return person;
        await people.setRole(person.id, wanted.role);
        const { email, role: role_before } = person;
        const tokensRevoked = wanted.role === "owner" ? 0 : await tokens.revokeMadeBy(email);
        return done({ email, role: wanted.role, role_before, tokens_revoked: tokensRevoked });
      }),
    },
    {
      method: "POST",
      path: "/operators/:operator/reset",
      right: "owner",
      async handle({ params }) {
        const person = await personIn(params);
        if (isRefusal(person)) return person;
        const { email, role } = person;
        const link = linkOf(await people.reset(person.id));
        return done({ email, role, link, tokens_in_use: await tokens.madeBy(email) });
      },
    },
    {
      method: "POST",
      path: "/operators/:operator/remove",
      right: "owner",
      async handle({ params }) {
        const person = await personIn(params);
        if (isRefusal(person)) return person;
        await people.remove(person.id);
        const tokensRevoked = await tokens.revokeMadeBy(person.email);
        return done({ email: person.email, removed: true, tokens_revoked: tokensRevoked });
      },
    },
    {
      method: "GET",
      path: "/tokens",
      async handle() {
        return done((await tokens.list()).map(tokenJson));
      },
    },
    {
      method: "POST",
      path: "/tokens",
      right: "owner",
      handle: reading(newToken, async ({ name, role, days }, _, { person }) => {
        const made = await tokens.create(name, role, person, days);
        if (typeof made === "object")
          return done({ id: made.id, name, role, ends_at: made.endsAt, token: made.token }, 201);
        const message =
          made === "name_taken"
            ? "A token in use has this name. Choose another one, or revoke it first."
            : `${TOKENS_MAX} tokens are in use, the maximum; revoke some first.`;
        return refuse.conflict(message, { code: made, param: "name" });
      }),
    },
    {
      method: "POST",
      path: "/tokens/:name/revoke",
      right: "owner",
      async handle({ params }) {
        const { name = "" } = params;
        const id = await tokens.revoke(name);
        if (id !== undefined) return done({ id, revoked: true });
        return refuse.notFound("There is no such token. `token list` lists them.", "name");
      },
    },
  ];
}

function shown({ id, email, role, passwordHash, hasFactor, linkEndsAt, madeAt, seenAt }: Person) {
  return {
    id,
    email,
    role,
    state: passwordHash === null ? "invited" : "active",
    second_factor: hasFactor,
    link_ends_at: linkEndsAt,
    made_at: madeAt,
    seen_at: seenAt,
  };
}

function tokenJson({ id, name, role, person, madeAt, endsAt, revokedAt }: NamedToken) {
  return {
    id,
    name,
    role,
    made_by: person,
    made_at: madeAt,
    ends_at: endsAt,
    revoked_at: revokedAt,
  };
}

function unknown(): Refusal {
  return refuse.notFound("There is no such operator. `operator list` lists them.", "operator");
}
