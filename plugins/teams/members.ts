import { newId, type Services } from "../../core/plugin/index.ts";

type Limits = Awaited<ReturnType<Services["accounts"]["keys"]>>[number]["limits"];
type LimitsChange = NonNullable<Parameters<Services["keys"]["create"]>[3]>;

type Role = "manager" | "member";

/** A member of a team, or a person who is invited to it. */
export interface Member {
  readonly id: string;
  /** The account of the team's owner. */
  readonly accountId: string;
  /** The address that was invited. */
  readonly email: string;
  /** The member's own account; null until he joins. */
  readonly ownAccountId: string | null;
  readonly role: Role;
  /** They count for all keys of the member together. */
  readonly limits: Limits;
  readonly invitedAt: Date;
  readonly joinedAt: Date | null;
  readonly removedAt: Date | null;
}

interface Invitation extends Pick<Member, "accountId" | "email" | "role"> {
  readonly limits: LimitsChange;
  readonly membersMax: number;
}

const INVITED_A_DAY_MAX = 50;
/** Teams that a person sees. An owner of many accounts cannot fill the page of another person. */
const TEAMS_MAX = 20;

const COLUMNS = `id, account_id as "accountId", email, own_account_id as "ownAccountId", role, limits,
  invited_at as "invitedAt", joined_at as "joinedAt", removed_at as "removedAt"`;

/** The members of all teams, in the ledger. */
export class Members {
  constructor(private readonly services: Services) {}

  /** Invites an address. Returns the id of the member, or why not. */
  async invite({
    accountId,
    email,
    role,
    limits,
    membersMax,
  }: Invitation): Promise<{ readonly id: string } | "known" | "full" | "too_many"> {
    const now = this.services.clock.now();
    const id = newId(now);
    const [row] = await this.query<{ result: "invited" | "known" | "full" | "too_many" }>(
      "select invite_member($1, $2, $3, $4, $5::text::jsonb, $6, $7, $8) as result",
      [
        ...[id, accountId, email, role, JSON.stringify(limits), new Date(now)],
        ...[membersMax, INVITED_A_DAY_MAX],
      ],
    );
    return row === undefined || row.result === "invited" ? { id } : row.result;
  }

  /** Returns the members of a team and the invited, oldest first. `withRemoved`: those who have left too. */
  ofTeam(accountId: string, withRemoved = false): Promise<Member[]> {
    return this.query(
      `select ${COLUMNS} from team_members where account_id = $1 and ($2 or removed_at is null) order by id`,
      [accountId, withRemoved],
    );
  }

  /** Returns the memberships of a person and his invitations, newest first. `email`: his verified address. */
  ofPerson(ownAccountId: string, email: string | undefined): Promise<Member[]> {
    return this.query(
      `select ${COLUMNS} from team_members
      where removed_at is null and (own_account_id = $1 or (joined_at is null and email = $2 and account_id <> $1))
      order by joined_at is null, id desc limit ${TEAMS_MAX}`,
      [ownAccountId, email?.toLowerCase() ?? null],
    );
  }

  /** Returns a person's membership of a team; undefined if he is no member of it. */
  async find(accountId: string, ownAccountId: string): Promise<Member | undefined> {
    const [found] = await this.query<Member>(
      `select ${COLUMNS} from team_members
      where account_id = $1 and own_account_id = $2 and removed_at is null`,
      [accountId, ownAccountId],
    );
    return found;
  }

  /** Makes an invited person a member. Returns undefined if this address is not invited to this team. */
  async join(accountId: string, ownAccountId: string, email: string): Promise<Member | undefined> {
    const [joined] = await this.query<Member>(
      `update team_members set own_account_id = $2, joined_at = $4
      where account_id = $1 and email = $3 and joined_at is null and removed_at is null and account_id <> $2
        and not exists (
          select from team_members other
          where other.account_id = $1 and other.own_account_id = $2 and other.removed_at is null
        )
      returning ${COLUMNS}`,
      [accountId, ownAccountId, email.toLowerCase(), this.now()],
    );
    return joined;
  }

  /** Changes role and limits. Returns the member as he is now; undefined if the team has no such member. */
  async change(
    { id, accountId }: Pick<Member, "id" | "accountId">,
    given: { readonly role?: Role | undefined; readonly limits: LimitsChange },
  ): Promise<Member | undefined> {
    const [changed] = await this.query<Member>(
      `update team_members
      set role = coalesce($3, role), limits = jsonb_strip_nulls(limits || $4::text::jsonb)
      where id = $1 and account_id = $2 and removed_at is null
      returning ${COLUMNS}`,
      [id, accountId, given.role ?? null, JSON.stringify(given.limits)],
    );
    await this.services.accounts.keysChanged(accountId);
    return changed;
  }

  /**
   * Removes a member and revokes his keys: once this resolves, no process takes a call with them. A removal that a crash
   * interrupted can be repeated; until then his keys serve no calls, as nothing knows their limits.
   */
  async remove({ id, accountId }: Pick<Member, "id" | "accountId">): Promise<number> {
    const { accounts, keys } = this.services;
    await this.query(
      "update team_members set removed_at = coalesce(removed_at, $2) where id = $1",
      [id, this.now()],
    );
    await accounts.keysChanged(accountId);
    const own = await accounts.latestKeys(accountId, 0, id);
    await keys.revokeAll(own.map((key) => key.id));
    return own.length;
  }

  /** Returns the limits of a member; undefined if he has not joined, was removed, or is suspended himself. */
  async limitsOf(id: string): Promise<Limits | undefined> {
    const [found] = await this.query<Pick<Member, "limits" | "ownAccountId">>(
      `select limits, own_account_id as "ownAccountId" from team_members
      where id = $1 and joined_at is not null and removed_at is null`,
      [id],
    );
    const own = found && (await this.services.accounts.find(found.ownAccountId ?? ""));
    return own?.status === "active" ? found?.limits : undefined;
  }

  /** Returns the keys that an account's person has as a member of others' teams. */
  async keysOf(ownAccountId: string) {
    const found = await this.query<Pick<Member, "id" | "accountId">>(
      `select id, account_id as "accountId" from team_members where own_account_id = $1 and removed_at is null`,
      [ownAccountId],
    );
    const { accounts } = this.services;
    const keys = found.map(({ id, accountId }) => accounts.latestKeys(accountId, 0, id));
    return (await Promise.all(keys)).flat();
  }

  private query<Row extends object>(
    text: string,
    parameters: Parameters<Services["database"]["query"]>[1],
  ) {
    return this.services.database.query<Row>(text, parameters);
  }

  private now(): Date {
    return new Date(this.services.clock.now());
  }
}
