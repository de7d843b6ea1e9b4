/** The team of another person whose wallet this browser works on. */
interface Team {
  /** The id of its owner's account. */
  readonly id: string;
  readonly ownerEmail: string;
}

const STORED = "team";

/** Returns the team in use; undefined if that is one's own wallet. */
export function currentTeam(): Team | undefined {
  const [id, ownerEmail] = (sessionStorage.getItem(STORED) ?? "").split(" ");
  return id && ownerEmail ? { id, ownerEmail } : undefined;
}

/** Works on the wallet of a team from now on, or on one's own. */
export function useTeam(team: Team | undefined): void {
  if (team) sessionStorage.setItem(STORED, `${team.id} ${team.ownerEmail}`);
  else sessionStorage.removeItem(STORED);
}

/** Returns a path of the API as it is for the wallet in use: keys and calls are of one wallet, all else of the person. */
export function pathInTeam(path: string): string {
  const team = currentTeam();
  return team && /^\/(?:keys|usage|calls)(?![\w-])/.test(path) ? `/teams/${team.id}${path}` : path;
}
