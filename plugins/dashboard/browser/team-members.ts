import { get } from "./api.ts";
import type { Member, Place } from "./contract.ts";
import { hasPlugin } from "./plugins.ts";
import { currentAccount } from "./session.ts";
import { currentTeam } from "./team.ts";

/** Returns the members of one's own team, with those who have left it; none while another wallet is in use, or if the gateway has no teams. */
export async function ownMembers(): Promise<readonly Member[]> {
  const own = currentAccount()?.id;
  if (!own || !hasPlugin("teams") || currentTeam()) return [];
  const { data } = await get<{ data: Member[] }>(`/teams/${own}/members?removed=true`);
  return data.filter(({ state }) => state !== "invited");
}

/** Returns the addresses of those who have invited the reader to their teams, and whom he has not joined yet. */
export async function invitedBy(): Promise<readonly string[]> {
  if (!hasPlugin("teams")) return [];
  const { data } = await get<{ data: Place[] }>("/teams");
  return data.filter(({ state }) => state === "invited").map((place) => place.owner_email);
}
