-- What customers sign in with. Secrets are stored as hashes: passwords by argon2id, the tokens of sessions and mails by
-- SHA-256.

-- An account that an operator created has no row until its owner sets a password.
create table account_credentials (
  account_id uuid primary key references accounts,
  -- In the PHC form of argon2id, with its parameters and salt.
  password_hash text not null,
  -- Null until a link sent to the address was opened.
  verified_at timestamptz,
  -- Null until its owner chose one, or a page on which he set the password did.
  language text check (language in ('vi', 'en')),
  changed_at timestamptz not null,
  -- When the owner agreed to the operator's terms and privacy policy; null if there were none at the sign-up.
  agreed_at timestamptz
);

-- Few rows: for the deletion of accounts that were never verified.
create index account_credentials_unverified on account_credentials (changed_at) where verified_at is null;

-- The customers whose address is verified and who have not left, for statements of the plugin messages.
create function mailable_accounts() returns setof uuid language sql stable as $$
  select account_id from account_credentials where verified_at is not null
  except select closed_accounts()
$$;

create table account_sessions (
  id uuid primary key,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  account_id uuid not null references accounts,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  -- When its owner last gave the password or a code: at the sign-in, and again before a key is shown or made.
  proven_at timestamptz not null,
  remote_address text not null,
  user_agent text not null
);

create index account_sessions_account on account_sessions (account_id, created_at);

-- The secret of the MAC at the end of each session's token, so that a forged token costs no query. It protects from load
-- only, as that of keys does.
create table account_session_macs (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32)
);

insert into account_session_macs (secret)
values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

create table account_tokens (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  account_id uuid not null references accounts,
  purpose text not null check (purpose in ('verify', 'reset')),
  expires_at timestamptz not null
);

create index account_tokens_account on account_tokens (account_id);

-- Browsers in which an account has signed in before. Their attempts have a limit of their own, so that strangers who
-- guess at an account cannot keep its owner out.
create table account_devices (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  account_id uuid not null references accounts,
  seen_at timestamptz not null
);

create index account_devices_account on account_devices (account_id, seen_at);

-- A text that each master key has sealed. A key that cannot unseal the one of its id is not the same key.
create table account_master_keys (
  id text primary key,
  sealed bytea not null
);

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

-- Attempts, by the generic cell rate algorithm: the theoretical arrival time of the next one at an even rate.
-- Names are hashes, so no address is stored because someone tried it.
create table account_throttles (
  name bytea primary key,
  arrival timestamptz not null
);

-- Takes one attempt out of each limit, or none of any. `limits` is a JSON array of {name: base64, period: seconds, burst}.
-- Returns the seconds to wait; 0 if the attempt was taken. Rows are locked in the order of their names, so that attempts
-- wait for each other but never deadlock.
create function take_attempt(limits json, attempted_at timestamptz) returns double precision
language plpgsql as $$
declare
  wait double precision;
begin
  with wanted as (
    select decode(name, 'base64') as name, period, burst
    from json_to_recordset(limits) as wanted (name text, period double precision, burst integer)
  ),
  locked as (
    insert into account_throttles as throttle (name, arrival)
    select name, attempted_at from wanted order by name
    on conflict (name) do update set arrival = greatest(throttle.arrival, excluded.arrival)
    returning name, arrival
  )
  select max(extract(epoch from arrival - attempted_at) + period - period * burst) into wait
  from locked join wanted using (name);
  -- The resolution of a timestamp is a microsecond.
  if wait > 0.000002 then
    return wait;
  end if;
  update account_throttles throttle set arrival = throttle.arrival + make_interval(secs => period)
  from json_to_recordset(limits) as wanted (name text, period double precision, burst integer)
  where throttle.name = decode(wanted.name, 'base64');
  return 0;
end
$$;

-- Gives an attempt back: the password was right.
create function give_back_attempt(limits json) returns void
language plpgsql as $$
declare
  wanted record;
begin
  for wanted in
    select decode(name, 'base64') as name, period
    from json_to_recordset(limits) as wanted (name text, period double precision)
    order by 1
  loop
    update account_throttles set arrival = arrival - make_interval(secs => wanted.period)
    where name = wanted.name;
  end loop;
end
$$;

-- Codes with which people sign up while that takes an invitation. Only hashes of codes are stored.
create table account_invitations (
  id uuid primary key,
  code_hash bytea not null unique check (octet_length(code_hash) = 32),
  -- The first characters of the code, by which operators recognise it.
  prefix text not null,
  note text,
  uses_left integer not null check (uses_left >= 0),
  created_at timestamptz not null,
  ends_at timestamptz not null
);

-- Makes an account and its password, with the invitation if one is needed: `invitation` is the hash of its code, or null.
-- Returns `created`, `email_taken` or `not_invited`. A taken address costs a use too: otherwise the uses that are left would
-- reveal which addresses have an account.
create function sign_up(
  new_account uuid, new_email text, new_hash text, new_language text, signed_up_at timestamptz, has_agreed boolean,
  invitation bytea
) returns text language plpgsql as $$
begin
  if invitation is not null then
    -- Of two sign-ups at once, the second waits here, and sees the use of the first.
    update account_invitations set uses_left = uses_left - 1
    where code_hash = invitation and uses_left > 0 and ends_at > signed_up_at;
    if not found then
      return 'not_invited';
    end if;
  end if;
  if not create_account(new_account, new_email) then
    return 'email_taken';
  end if;
  insert into account_credentials (account_id, password_hash, language, changed_at, agreed_at)
  values (
    new_account, new_hash, new_language, signed_up_at, case when has_agreed then signed_up_at end
  );
  return 'created';
end
$$;

-- The functions below lock the account first, and so wait for each other: of a sign-in by an old password and the change of
-- that password, the second sees the first.

-- Sets a new password by a link that was sent to the address, which proves the address. Ends all sessions. Returns null if
-- there is no such token.
create function reset_password(reset_token bytea, new_hash text, page_language text, reset_at timestamptz) returns uuid
language plpgsql as $$
declare
  owner uuid;
begin
  select account_id into owner from account_tokens where token_hash = reset_token;
  perform lock_account(owner);
  delete from account_tokens
  where token_hash = reset_token and purpose = 'reset' and expires_at > reset_at;
  if not found then
    return null;
  end if;
  insert into account_credentials as old (account_id, password_hash, verified_at, language, changed_at)
  values (owner, new_hash, reset_at, page_language, reset_at)
  on conflict (account_id) do update set
    password_hash = new_hash, verified_at = coalesce(old.verified_at, reset_at),
    language = coalesce(old.language, page_language), changed_at = reset_at;
  delete from account_sessions where account_id = owner;
  delete from account_tokens where account_id = owner and purpose = 'reset';
  return owner;
end
$$;

-- Returns false if the password was changed in between. Ends every session except the one that asks.
create function change_password(
  owner uuid, old_hash text, new_hash text, session uuid, change_at timestamptz
) returns boolean language plpgsql as $$
begin
  perform lock_account(owner);
  update account_credentials set password_hash = new_hash, changed_at = change_at
  where account_id = owner and password_hash = old_hash;
  if not found then
    return false;
  end if;
  delete from account_sessions where account_id = owner and id <> session;
  delete from account_tokens where account_id = owner and purpose = 'reset';
  return true;
end
$$;

-- Returns false if the password that was checked is no longer the account's, or if the account has a second factor other
-- than the one that was checked. The oldest session makes room.
create function open_session(
  owner uuid, checked_hash text, session uuid, session_token bytea, opened_at timestamptz,
  remote text, agent text, sessions_max integer, checked_factor uuid
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
    id, token_hash, account_id, created_at, seen_at, proven_at, remote_address, user_agent
  )
  values (session, session_token, owner, opened_at, opened_at, opened_at, remote, agent);
  return true;
end
$$;

-- Changes the address that an account signs in with. Returns `changed`, `email_taken` or `no_account`. Ends all sessions,
-- and the links that were mailed to the address before.
create function change_email(owner uuid, new_email text) returns text language plpgsql as $$
declare
  result text;
begin
  perform lock_account(owner);
  result := set_account_email(owner, new_email);
  if result = 'changed' then
    delete from account_tokens where account_id = owner;
    delete from account_sessions where account_id = owner;
  end if;
  return result;
end
$$;

-- `code_hashes` is a JSON array of hashes in base64.
create function replace_recovery_codes(owner uuid, code_hashes json) returns void language plpgsql as $$
begin
  perform lock_account(owner);
  delete from account_recovery_codes where account_id = owner;
  insert into account_recovery_codes (code_hash, account_id)
  select decode(value, 'base64'), owner from json_array_elements_text(code_hashes);
end
$$;

-- Returns false if this second factor is not the one that waits for its first code. Ends every session except the one
-- that asks: they began without a code.
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

-- Returns false if the account has no second factor. One that waits for its first code is none yet.
create function drop_second_factor(owner uuid) returns boolean language plpgsql as $$
begin
  perform lock_account(owner);
  delete from account_recovery_codes where account_id = owner;
  delete from account_second_factors where account_id = owner and confirmed_at is null;
  delete from account_second_factors where account_id = owner;
  return found;
end
$$;

-- Deletes accounts whose address was not verified since `signed_up_before`, at most so many. Leaves those that have a valid
-- link, or that an operator has given money or a key. Returns how many it deleted.
create function delete_unverified(
  signed_up_before timestamptz, links_valid_at timestamptz, at_most integer
) returns integer language plpgsql as $$
declare
  owner uuid;
  deleted integer := 0;
begin
  -- One gateway at a time: two would lock accounts in different orders, and wait for each other.
  if not pg_try_advisory_xact_lock(hashtext('delete_unverified')) then
    return 0;
  end if;
  for owner in
    select credentials.account_id from account_credentials credentials
    where verified_at is null and changed_at < signed_up_before and not exists (
      select from account_tokens token
      where token.account_id = credentials.account_id and expires_at > links_valid_at
    )
    -- Those that stay must not be all that is looked at.
    order by random() limit at_most
  loop
    begin
      perform lock_account(owner);
      delete from account_credentials where account_id = owner and verified_at is null;
      continue when not found;
      delete from account_tokens where account_id = owner;
      perform delete_unused_account(owner);
      deleted := deleted + 1;
    exception when foreign_key_violation then
      null;
    end;
  end loop;
  return deleted;
end
$$;
