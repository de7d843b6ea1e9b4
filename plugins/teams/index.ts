import {
  addCustomerRoutes,
  addOperatorRoutes,
  type Customer,
  isId,
  isRefusal,
  type PlainRequest,
  type Plugin,
  type Refusal,
  type Router,
  type Services,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { Members } from "./members.ts";
import { commands, operatorRoutes } from "./operator-routes.ts";
import { noSuchTeam, teamRoutes } from "./routes.ts";

/** Members use routes of these. */
export const after = ["accounts", "dashboard"];
export const uses = ["guards.customer", "customers"];
export const provides = ["teamMembers"];

export const options = v.strictObject({
  /** Members and open invitations of one team. */
  members_max: v.optional(whole(1, 1_000), 50),
});

const PREFIX = "/account/v1";

/**
 * Lets several people work on one wallet, each with keys, limits and a view of their own; its owner pays. Refuses calls
 * beyond a member's limits, through core, which reads them with his keys.
 */
export default function teams(
  services: Services,
  { members_max: membersMax }: v.InferOutput<typeof options>,
): Plugin {
  const members = new Members(services);

  /** Returns the customer as a member of the team in the path. */
  async function enter(request: PlainRequest): Promise<Customer | Refusal> {
    const customer = await services.guards.customer.current(request);
    if (isRefusal(customer)) return customer;
    const { accountId } = customer;
    const team = request.params["team"] ?? "";
    const member = isId(team) ? await members.find(team, accountId) : undefined;
    if (!member) return noSuchTeam();
    return { ...customer, accountId: team, member: { id: member.id, ownAccountId: accountId } };
  }

  /** Adds every route that is for members too once more, for his keys and calls in a team. */
  function addMemberRoutes(router: Router): void {
    for (const route of router.all()) {
      if (route.access === "call" || !route.behind) continue;
      const { method, access, bodyBytesMax, behind } = route;
      const path = `${PREFIX}/teams/:team${route.path.slice(PREFIX.length)}`;
      const handler = behind(enter);
      router.addRoute({ method, path, access, handler, ...(bodyBytesMax && { bodyBytesMax }) });
    }
  }

  return {
    name: "teams",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/teams/migrations/", import.meta.url),
    commands,

    async start() {
      services.teamMembers.provide(members);
    },

    routes(router) {
      addMemberRoutes(router);
      addCustomerRoutes(router, services, PREFIX, teamRoutes(services, members, membersMax));
      addOperatorRoutes(router, services, "/admin/v1", operatorRoutes(services, members));
    },
  };
}
