-- The second factor of accounts whose owner switched it on: codes by RFC 6238, and recovery codes. The secret is sealed
-- as API keys are; of recovery codes only hashes are stored.
create table account_second_factors (
  account_id uuid primary key references accounts,
  id uuid not null unique,
  sealed bytea not null,
  sealed_by text not null,
  created_at timestamptz not null,
  -- Null until the owner has entered a first code. Until then sign-in asks for none.
  confirmed_at timestamptz,
  -- The time step of the last code that was accepted. No code of this step or an earlier one counts again.
  last_step bigint not null default 0
);

create table account_recovery_codes (
  code_hash bytea primary key check (octet_length(code_hash) = 32),
  account_id uuid not null references accounts
);

create index account_recovery_codes_account on account_recovery_codes (account_id);

-- `code_hashes` is a JSON array of hashes in base64.
create function replace_recovery_codes(owner uuid, code_hashes json) returns void language plpgsql as $$
begin
  perform lock_account(owner);
  delete from account_recovery_codes where account_id = owner;
  insert into account_recovery_codes (code_hash, account_id)
  select decode(value, 'base64'), owner from json_array_elements_text(code_hashes);
end
$$;

-- Returns false if this second factor is not the one that waits for its first code. Ends every session but the one that
-- asks: they began without a code.
create function confirm_second_factor(
  owner uuid, factor uuid, step bigint, code_hashes json, session uuid, confirmed timestamptz
) returns boolean language plpgsql as $$
begin
  perform lock_account(owner);
  update account_second_factors set confirmed_at = confirmed, last_step = step
  where id = factor and account_id = owner and confirmed_at is null;
  if not found then
    return false;
  end if;
  perform replace_recovery_codes(owner, code_hashes);
  delete from account_sessions where account_id = owner and id <> session;
  return true;
end
$$;

-- Returns false if the account has no second factor.
create function drop_second_factor(owner uuid) returns boolean language plpgsql as $$
begin
  perform lock_account(owner);
  delete from account_recovery_codes where account_id = owner;
  delete from account_second_factors where account_id = owner;
  return found;
end
$$;

-- As before, and returns false too if the account has a second factor other than the one that was checked. A gateway of
-- an earlier version passes none, so it cannot sign in accounts that have one.
drop function open_session(uuid, text, uuid, bytea, timestamptz, text, text, integer);

create function open_session(
  owner uuid, checked_hash text, session uuid, session_token bytea, opened_at timestamptz,
  remote text, agent text, sessions_max integer, checked_factor uuid default null
) returns boolean language plpgsql as $$
begin
  perform lock_account(owner);
  perform from account_credentials where account_id = owner and password_hash = checked_hash;
  if not found then
    return false;
  end if;
  perform from account_second_factors
  where account_id = owner and confirmed_at is not null and id is distinct from checked_factor;
  if found then
    return false;
  end if;
  delete from account_sessions where id in (
    select id from account_sessions where account_id = owner
    order by created_at desc, id desc offset sessions_max - 1
  );
  insert into account_sessions (
    id, token_hash, account_id, created_at, seen_at, remote_address, user_agent
  )
  values (session, session_token, owner, opened_at, opened_at, remote, agent);
  return true;
end
$$;
