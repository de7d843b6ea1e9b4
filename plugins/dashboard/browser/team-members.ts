import { get } from "./api.ts";
import type { Member } from "./contract.ts";
import { currentAccount } from "./session.ts";
import { currentTeam } from "./team.ts";

/** Returns the members of one's own team; none while another wallet is in use, or if the gateway has no teams. */
export async function ownMembers(): Promise<readonly Member[]> {
  const own = currentAccount()?.id;
  const hasTeams = document.documentElement.dataset["teams"] !== undefined;
  if (!own || !hasTeams || currentTeam()) return [];
  const { data } = await get<{ data: Member[] }>(`/teams/${own}/members`);
  return data.filter(({ state }) => state !== "invited");
}
