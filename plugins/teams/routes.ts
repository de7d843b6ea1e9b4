import {
  type Customer,
  type CustomerRoute,
  done,
  email,
  isId,
  isRefusal,
  keyLimits,
  mapping,
  oneOf,
  type PlainRequest,
  type Refusal,
  readBody,
  readQuery,
  refuse,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { joinedMails } from "./joined-mail.ts";
import type { Member, Members } from "./members.ts";
import { memberJson, spentByMember, spentOf } from "./shown.ts";

const role = oneOf(["manager", "member"]);
const limits = v.optional(mapping(keyLimits.fields), {});
const newMember = mapping({ email, role: v.optional(role, "member"), limits });
const membersAsked = mapping({ removed: v.optional(oneOf(["true", "false"])) });
const memberChange = mapping({ role: v.optional(role), limits });

/** A customer in a team: its owner, or a member. */
interface Place {
  readonly accountId: string;
  readonly role: "owner" | Member["role"];
  /** Undefined for the owner. */
  readonly member: Member | undefined;
}

/** Routes for owners and members of teams. Teams of others get 404. */
export function teamRoutes(
  services: Services,
  members: Members,
  membersMax: number,
): CustomerRoute[] {
  const { accounts, customers, clock, log } = services;
  const mailOwner = joinedMails(services);

  async function placeOf({ params }: PlainRequest, customer: Customer): Promise<Place | Refusal> {
    const accountId = params["team"] ?? "";
    if (!isId(accountId)) return noSuchTeam();
    if (accountId === customer.accountId) return { accountId, role: "owner", member: undefined };
    const member = await members.find(accountId, customer.accountId);
    return member ? { accountId, role: member.role, member } : noSuchTeam();
  }

  /** Returns the place of someone who may see members, or a refusal. */
  async function leaderOf(request: PlainRequest, customer: Customer): Promise<Place | Refusal> {
    const place = await placeOf(request, customer);
    return isRefusal(place) || place.role !== "member" ? place : notAllowed();
  }

  /** Returns the place of someone who may change members, or a refusal. A paused manager would spend through another one. */
  async function changerOf(request: PlainRequest, customer: Customer): Promise<Place | Refusal> {
    const place = await leaderOf(request, customer);
    if (isRefusal(place) || !place.member) return place;
    const { paused, ends_at } = place.member.limits;
    const isOver = ends_at != null && Date.parse(ends_at) <= clock.now();
    return paused || isOver ? notAllowed() : place;
  }

  async function memberOf({ params }: PlainRequest, { accountId }: Place) {
    const found = await members.ofTeam(accountId);
    return found.find(({ id }) => id === params["member"]);
  }

  async function one(member: Member, status = 200) {
    const emails = await accounts.emails([member.ownAccountId ?? ""]);
    const address = emails.get(member.ownAccountId ?? "") ?? member.email;
    return done(
      await memberJson(services, member, address, await spentOf(services, member)),
      status,
    );
  }

  return [
    {
      method: "GET",
      path: "/teams",
      async handle(_, { accountId, email: address, isEmailVerified }) {
        const found = await members.ofPerson(accountId, isEmailVerified ? address : undefined);
        const owners = await accounts.emails(found.map((member) => member.accountId));
        const data = found.map(async (member) => ({
          team: member.accountId,
          owner_email: owners.get(member.accountId) ?? "",
          ...(await memberJson(services, member, address, await spentOf(services, member))),
        }));
        return done({ data: await Promise.all(data) });
      },
    },
    {
      method: "POST",
      path: "/teams/:team/join",
      async handle({ params }, { accountId, email: address, isEmailVerified }) {
        const team = params["team"] ?? "";
        const member =
          isId(team) && isEmailVerified ? await members.join(team, accountId, address) : undefined;
        if (!member) return noSuchTeam();
        await mailOwner(member, address);
        return one(member);
      },
    },
    {
      method: "POST",
      path: "/teams/:team/leave",
      async handle({ params }, { accountId, email: address, isEmailVerified }) {
        const found = await members.ofPerson(accountId, isEmailVerified ? address : undefined);
        const member = found.find((one) => one.accountId === params["team"]);
        if (!member) return noSuchTeam();
        return done({ team: member.accountId, keys_revoked: await members.remove(member) });
      },
    },
    {
      method: "GET",
      path: "/teams/:team/members",
      async handle(request, customer) {
        const place = await leaderOf(request, customer);
        if (isRefusal(place)) return place;
        const asked = readQuery(membersAsked, request.query);
        if (isRefusal(asked)) return asked;
        const found = await members.ofTeam(place.accountId, asked.removed === "true");
        return done({
          data: await shownMembers(services, found, place.accountId),
          maximum: membersMax,
        });
      },
    },
    {
      method: "POST",
      path: "/teams/:team/members",
      async handle(request, customer) {
        const place = await changerOf(request, customer);
        if (isRefusal(place)) return place;
        const wanted = readBody(newMember, request.body);
        if (isRefusal(wanted)) return wanted;
        if (!customer.isEmailVerified) return notVerified();
        if (wanted.role !== "member" && place.role !== "owner") return notAllowed();
        const refusal =
          keyLimits.refusal(wanted.limits, services) ??
          (await customers.current.unproven(customer));
        if (refusal) return refusal;
        const { accountId } = place;
        if ((await accounts.find(accountId))?.email.toLowerCase() === wanted.email) return known();
        const made = await members.invite({ accountId, ...wanted, membersMax });
        if (made === "known") return known();
        if (made === "full") return full(membersMax);
        if (made === "too_many") return tooMany();
        // One mail a day: an invitation that is withdrawn and made again sends no second one.
        const cause = `team ${accountId} ${wanted.email} ${new Date(clock.now()).toISOString().slice(0, 10)}`;
        await customers.current.invite(accountId, wanted.email, customer.email, cause);
        const found = await memberOf({ ...request, params: { member: made.id } }, place);
        return found ? one(found, 201) : noSuchMember();
      },
    },
    {
      method: "POST",
      path: "/teams/:team/members/:member",
      async handle(request, customer) {
        const place = await changerOf(request, customer);
        if (isRefusal(place)) return place;
        const member = await memberOf(request, place);
        if (!member) return noSuchMember();
        const change = readBody(memberChange, request.body);
        if (isRefusal(change)) return change;
        const isOfOwner = change.role !== undefined || member.role === "manager";
        if (isOfOwner && place.role !== "owner") return notAllowed();
        // A member is paused without delay, but a stolen session alone cannot make one spend more.
        const { limits, role } = change;
        const isPause = limits.paused === true && Object.keys(limits).length === 1;
        const refusal =
          (role
            ? keyLimits.refusal(limits, services)
            : keyLimits.changeRefusal(limits, services)) ??
          (isPause && role === undefined ? undefined : await customers.current.unproven(customer));
        if (refusal) return refusal;
        const changed = await members.change(member, change);
        return changed ? one(changed) : noSuchMember();
      },
    },
    {
      method: "POST",
      path: "/teams/:team/members/:member/remove",
      async handle(request, customer) {
        const place = await changerOf(request, customer);
        if (isRefusal(place)) return place;
        if (place.role !== "owner") return notAllowed();
        const member = await memberOf(request, place);
        if (!member) return noSuchMember();
        const keysRevoked = await members.remove(member);
        log.info(
          { account_id: member.accountId, member_id: member.id },
          "removed a member of a team",
        );
        return done({ id: member.id, keys_revoked: keysRevoked });
      },
    },
  ];
}

/** Returns members as every API shows them. The address is that of the account by now. */
export async function shownMembers(
  services: Services,
  members: readonly Member[],
  accountId: string,
) {
  const [spent, emails] = await Promise.all([
    spentByMember(services, accountId),
    services.accounts.emails(members.map(({ ownAccountId }) => ownAccountId ?? "")),
  ]);
  return Promise.all(
    members.map((member) => {
      const address = emails.get(member.ownAccountId ?? "") ?? member.email;
      return memberJson(services, member, address, spent.get(member.id));
    }),
  );
}

export function noSuchTeam(): Refusal {
  return refuse.notFound("You are in no such team, or not invited to it.", "team");
}

export function noSuchMember(): Refusal {
  return refuse.notFound("The team has no such member.", "member");
}

function notAllowed(): Refusal {
  return refuse.forbidden("Your role in this team does not allow that: ask its owner.", {
    code: "wrong_team_role",
  });
}

function notVerified(): Refusal {
  const message = "Verify your email address first: open the link that we sent you.";
  return refuse.forbidden(message, { code: "email_not_verified" });
}

function known(): Refusal {
  const message = "This address is in the team, or invited to it.";
  return refuse.conflict(message, { code: "known_member", param: "email" });
}

function full(max: number): Refusal {
  return refuse.conflict(
    `The team has ${max} members and invitations, the maximum; remove one first.`,
    {
      code: "team_full",
    },
  );
}

function tooMany(): Refusal {
  return refuse.rateLimited("This team has invited too many people today; try again tomorrow.", {
    code: "too_many_invitations",
    headers: ["retry-after", "3600"],
  });
}
