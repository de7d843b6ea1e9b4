import { done, isId, type OperatorRoute, reading, type Services } from "../../core/plugin/index.ts";
import { because, discount } from "./input.ts";
import { unknownAccount } from "./unknown.ts";

/**
 * Routes to suspend and resume an account, to set its discount, and to note something about it, which the audit trail keeps.
 * Calls in flight are not affected.
 */
export function standingRoutes({ accounts, teamMembers }: Services): OperatorRoute[] {
  const changeTo = (path: string, status: "active" | "suspended"): OperatorRoute => ({
    method: "POST",
    right: "support",
    path,
    handle: reading(because, async (_, { params }) => {
      const id = params["account"] ?? "";
      if (!isId(id) || !(await accounts.setStatus(id, status))) return unknownAccount(id);
      // The keys that this person has in teams of others.
      const ofTeams = (await teamMembers.current?.keysOf(id)) ?? [];
      const teams = new Set(ofTeams.map(({ accountId }) => accountId));
      await Promise.all([...teams].map((team) => accounts.keysChanged(team)));
      return done({ id, status });
    }),
  });

  return [
    changeTo("/accounts/:account/suspend", "suspended"),
    changeTo("/accounts/:account/resume", "active"),
    {
      method: "POST",
      right: "support",
      path: "/accounts/:account/notes",
      handle: reading(because, async (wanted, { params }) => {
        const id = params["account"] ?? "";
        if (!isId(id) || !(await accounts.find(id))) return unknownAccount(id);
        return done({ id, note: wanted.reason });
      }),
    },
    {
      method: "POST",
      path: "/accounts/:account/discount",
      right: "money",
      handle: reading(discount, async ({ discount_bps }, { params }) => {
        const id = params["account"] ?? "";
        if (!isId(id) || !(await accounts.setDiscount(id, discount_bps))) return unknownAccount(id);
        return done({ id, discount_bps });
      }),
    },
  ];
}
