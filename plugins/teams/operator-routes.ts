import {
  type Command,
  done,
  formatVnd,
  isId,
  isRefusal,
  type OperatorRoute,
  type PlainRequest,
  parseVnd,
  type Refusal,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import type { Members } from "./members.ts";
import { noSuchMember, shownMembers } from "./routes.ts";

const account = { name: "account", value: "ID|EMAIL", about: "the owner", required: true } as const;

export const commands: readonly Command[] = [
  {
    words: "team show",
    about: "show how many members a customer's team has, and what they spent together",
    method: "GET",
    path: "/admin/v1/accounts/:account/team",
    options: [account],
  },
  {
    words: "team members",
    about: "list the members of a customer's team, with what they spent, and those who left",
    method: "GET",
    path: "/admin/v1/accounts/:account/team/members",
    options: [account],
  },
  {
    words: "team remove",
    about: "remove a member from a customer's team and revoke his keys there; his calls stay",
    method: "POST",
    path: "/admin/v1/accounts/:account/team/members/:member/remove",
    options: [account, { name: "member", value: "ID|EMAIL", required: true }],
  },
];

/** Routes for operators: the team of a customer. */
export function operatorRoutes(services: Services, members: Members): OperatorRoute[] {
  async function ownerOf({ params }: PlainRequest): Promise<string | Refusal> {
    const accountId = params["account"] ?? "";
    if (isId(accountId) && (await services.accounts.find(accountId))) return accountId;
    return refuse.notFound(
      "There is no such account: use an id or an address of `account list`.",
      "account",
    );
  }

  return [
    {
      method: "GET",
      path: "/accounts/:account/team",
      async handle(request) {
        const accountId = await ownerOf(request);
        if (isRefusal(accountId)) return accountId;
        const shown = await shownMembers(
          services,
          await members.ofTeam(accountId, true),
          accountId,
        );
        const count = (state: string) => shown.filter((one) => one.state === state).length;
        const sum = (name: "spent_today_vnd" | "spent_month_vnd") =>
          formatVnd(shown.reduce((total, one) => total + (parseVnd(one[name]) ?? 0n), 0n));
        return done({
          account: accountId,
          active: count("active"),
          paused: count("paused"),
          invited: count("invited"),
          removed: count("removed"),
          spent_today_vnd: sum("spent_today_vnd"),
          spent_month_vnd: sum("spent_month_vnd"),
        });
      },
    },
    {
      method: "GET",
      path: "/accounts/:account/team/members",
      async handle(request) {
        const accountId = await ownerOf(request);
        if (isRefusal(accountId)) return accountId;
        return done(await shownMembers(services, await members.ofTeam(accountId, true), accountId));
      },
    },
    {
      method: "POST",
      path: "/accounts/:account/team/members/:member/remove",
      right: "support",
      async handle(request) {
        const accountId = await ownerOf(request);
        if (isRefusal(accountId)) return accountId;
        const given = request.params["member"]?.toLowerCase() ?? "";
        const found = await members.ofTeam(accountId, true);
        const emails = await services.accounts.emails(
          found.map(({ ownAccountId }) => ownAccountId ?? ""),
        );
        const isNamed = (member: (typeof found)[number]) =>
          [member.email, emails.get(member.ownAccountId ?? "")?.toLowerCase()].includes(given);
        const member =
          found.find(({ id }) => id === given) ??
          found.find((one) => one.removedAt === null && isNamed(one));
        if (!member) return noSuchMember();
        return done({ id: member.id, keys_revoked: await members.remove(member) });
      },
    },
  ];
}
