-- The members of teams. A team is an account with members: its owner pays for their calls. An invitation is a member who has not
-- joined yet. Rows stay when a member is removed, as his calls do.
create table team_members (
  id uuid primary key,
  -- The account of the team's owner.
  account_id uuid not null references accounts,
  -- The address that was invited, in lower case. Only an account with this verified address can join.
  email text not null,
  -- The member's own account; null until he joins.
  own_account_id uuid references accounts,
  role text not null check (role in ('manager', 'member')),
  -- A `KeyLimitsJson` (core/accounts/key-limits.ts), which counts for all his keys together.
  limits jsonb not null check (jsonb_typeof(limits) = 'object'),
  invited_at timestamptz not null,
  joined_at timestamptz,
  removed_at timestamptz,
  check ((own_account_id is null) = (joined_at is null)),
  check (own_account_id <> account_id)
);

create unique index team_members_email on team_members (account_id, email) where removed_at is null;
create unique index team_members_joined on team_members (own_account_id, account_id) where removed_at is null;
create index team_members_invited on team_members (email) where removed_at is null and joined_at is null;
create index team_members_account on team_members (account_id, id);

-- Invites an address. Returns `invited`, `known` (it is invited or a member), `full`, or `too_many` invitations in a day. The
-- lock on the account makes the counts exact.
create function invite_member(
  member uuid, team uuid, invited_email text, invited_role text, invited_limits jsonb, at timestamptz,
  members_max integer, day_max integer
) returns text language plpgsql as $$
begin
  perform lock_account(team);
  if exists (
    select from team_members where account_id = team and email = invited_email and removed_at is null
  ) then
    return 'known';
  end if;
  if (select count(*) from team_members where account_id = team and removed_at is null) >= members_max then
    return 'full';
  end if;
  if (
    select count(*) from team_members where account_id = team and invited_at > at - interval '1 day'
  ) >= day_max then
    return 'too_many';
  end if;
  insert into team_members (id, account_id, email, role, limits, invited_at)
  values (member, team, invited_email, invited_role, jsonb_strip_nulls(invited_limits), at);
  return 'invited';
end
$$;
