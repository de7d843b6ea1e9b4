-- What customers sign in with. Every secret is here only as something that cannot be turned back: passwords
-- by argon2id, the tokens of sessions and mails by SHA-256.

-- An account that an operator has made has no row until its owner sets a password.
create table account_credentials (
  account_id uuid primary key references accounts,
  -- In the PHC form of argon2id, with its parameters and salt.
  password_hash text not null,
  -- Null until a link sent to the address was opened.
  verified_at timestamptz,
  language text not null default 'vi' check (language in ('vi', 'en')),
  changed_at timestamptz not null
);

create table account_sessions (
  id uuid primary key,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  account_id uuid not null references accounts,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  remote_address text not null,
  user_agent text not null
);

create index account_sessions_account on account_sessions (account_id, created_at);

create table account_tokens (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  account_id uuid not null references accounts,
  purpose text not null check (purpose in ('verify', 'reset')),
  expires_at timestamptz not null
);

create index account_tokens_account on account_tokens (account_id);

-- Attempts, by the generic cell rate algorithm: the theoretical arrival time of the next one at an even rate.
-- The names are hashes, so that nobody's address stays here for having been tried.
create table account_throttles (
  name bytea primary key,
  arrival timestamptz not null
);

-- Takes one attempt out of each limit, or none of any. `limits` is a JSON array of {name: base64, period:
-- seconds, burst}. Answers the seconds to wait; 0 where the attempt was taken. Rows are locked in the order
-- of their names, so that attempts wait for one another, but never in a circle.
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
  -- A microsecond is the least that a timestamp tells apart.
  if wait > 0.000002 then
    return wait;
  end if;
  update account_throttles throttle set arrival = throttle.arrival + make_interval(secs => period)
  from json_to_recordset(limits) as wanted (name text, period double precision, burst integer)
  where throttle.name = decode(wanted.name, 'base64');
  return 0;
end
$$;

-- The attempt was none: the password was right.
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

-- The functions below lock the account first, and so wait for one another: of a sign-in by an old password
-- and the change of that password, the second sees the first.

-- Null where there is no such token. The link proves the address, and whoever was signed in no longer is.
create function reset_password(reset_token bytea, new_hash text, reset_at timestamptz) returns uuid
language plpgsql as $$
declare
  owner uuid;
begin
  select account_id into owner from account_tokens where token_hash = reset_token;
  perform from accounts where id = owner for no key update;
  delete from account_tokens
  where token_hash = reset_token and purpose = 'reset' and expires_at > reset_at;
  if not found then
    return null;
  end if;
  insert into account_credentials as old (account_id, password_hash, verified_at, changed_at)
  values (owner, new_hash, reset_at, reset_at)
  on conflict (account_id) do update set
    password_hash = new_hash, verified_at = coalesce(old.verified_at, reset_at), changed_at = reset_at;
  delete from account_sessions where account_id = owner;
  delete from account_tokens where account_id = owner and purpose = 'reset';
  return owner;
end
$$;

-- False where the password was changed meanwhile. Ends every session but the one that asks.
create function change_password(
  owner uuid, old_hash text, new_hash text, session uuid, change_at timestamptz
) returns boolean language plpgsql as $$
begin
  perform from accounts where id = owner for no key update;
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

-- False where the password that was checked is no longer the account's. The oldest session makes room.
create function open_session(
  owner uuid, checked_hash text, session uuid, session_token bytea, opened_at timestamptz,
  remote text, agent text, sessions_max integer
) returns boolean language plpgsql as $$
begin
  perform from accounts where id = owner for no key update;
  perform from account_credentials where account_id = owner and password_hash = checked_hash;
  if not found then
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
