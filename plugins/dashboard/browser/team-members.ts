import { get } from "./api.ts";
import type { Member, Place } from "./contract.ts";
import { hasPlugin } from "./plugins.ts";
import { currentAccount } from "./session.ts";
import { currentTeam } from "./team.ts";

/**
 * Returns those who have joined one's own team, also if they have left it; none while another wallet is in use, or if the
 * gateway has no teams.
 */
export async function ownMembers(): Promise<readonly Member[]> {
  const own = currentAccount()?.id;
  if (!own || !hasPlugin("teams") || currentTeam()) return [];
  const { data } = await get<{ data: Member[] }>(`/teams/${own}/members?removed=true`);
  return data.filter(({ joined_at }) => joined_at !== null);
}

/**
 * Returns the addresses of those who have invited the reader to their teams, and whom he has not joined yet; none if they
 * cannot be read, as invitations stand beside what the reader came for.
 */
export async function invitedBy(): Promise<readonly string[]> {
  if (!hasPlugin("teams")) return [];
  const { data } = await get<{ data: Place[] }>("/teams").catch(() => ({ data: [] }));
  return data.filter(({ state }) => state === "invited").map((place) => place.owner_email);
}
