-- Accounts, their API keys, and the actions of operators: the tables of core/accounts.

-- For tables whose rows never change.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % is refused', tg_table_name, lower(tg_op)
    using errcode = 'restrict_violation';
end
$$;

-- Accounts ------------------------------------------------------------------------------------------------------------

-- `changed_at`: the time of the last change that gateways must not miss. They cache keys with their accounts, and read the
-- recent changes to drop what is stale. Accounts and keys each have the column, so a change of a key locks no account.
create table accounts (
  id uuid primary key,
  email text not null,
  status text not null default 'active' check (status in ('active', 'suspended', 'closed')),
  discount_bps integer not null default 0 check (discount_bps between 0 and 10000),
  created_at timestamptz not null default now(),
  changed_at timestamptz
);

create unique index accounts_email on accounts (lower(email));
create index accounts_changed on accounts (changed_at) where changed_at is not null;

create function note_change() returns trigger language plpgsql as $$
begin
  new.changed_at := clock_timestamp();
  return new;
end
$$;

create trigger accounts_change before update of status, discount_bps on accounts
  for each row execute function note_change();

-- Locks an account until the transaction ends, so that changes of what belongs to it wait for each other. New rows that
-- reference the account do not wait. Returns false if there is no such account. For migrations of plugins, which name no
-- table of core except in a foreign key to accounts (id).
create function lock_account(locked_account uuid) returns boolean language plpgsql as $$
begin
  perform from accounts where id = locked_account for no key update;
  return found;
end
$$;

-- For plugins.
create function closed_accounts() returns setof uuid language sql stable as $$
  select id from accounts where status = 'closed'
$$;

-- Returns `changed`, `email_taken` or `no_account`. For migrations of plugins.
create function set_account_email(changed_account uuid, new_email text) returns text language plpgsql as $$
begin
  update accounts set email = new_email where id = changed_account;
  return case when found then 'changed' else 'no_account' end;
exception when unique_violation then
  return 'email_taken';
end
$$;

-- API keys ------------------------------------------------------------------------------------------------------------

-- `sealed`: the key's text, encrypted so that its owner can read it again. `sealed_by` names the master key, so that a
-- rotation finds what an old one has sealed. Both are null for keys made without a master key. `limits`: a `KeyLimitsJson`
-- (core/accounts/key-limits.ts), or null if its owner has set none. `member_id`: the person who uses the key, if that is not
-- the owner of the account; a plugin knows who that is.
create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  member_id uuid,
  name text not null,
  hash bytea not null unique check (octet_length(hash) = 32),
  prefix text not null,
  status text not null default 'active' check (status in ('active', 'revoked')),
  -- Null: the configured default. 0: not limited.
  requests_per_minute integer check (requests_per_minute >= 0),
  limits jsonb check (jsonb_typeof(limits) = 'object' and limits <> '{}'),
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  changed_at timestamptz,
  sealed bytea,
  sealed_by text,
  check ((status = 'revoked') = (revoked_at is not null)),
  constraint api_keys_sealed check ((sealed is null) = (sealed_by is null))
);

create index api_keys_account on api_keys (account_id);
create index api_keys_member on api_keys (member_id) where member_id is not null;
create index api_keys_changed on api_keys (changed_at) where changed_at is not null;
-- An operator finds an account by the first characters of a key. Keys are plain ASCII, so the order of bytes serves any
-- prefix.
create index api_keys_prefix on api_keys (prefix collate "C");

create trigger api_keys_change before update of status, requests_per_minute, limits on api_keys
  for each row execute function note_change();

-- The secret of the MAC at the end of each key. With it a gateway refuses a guessed key without reading the ledger. It lies
-- beside the keys: every gateway of the ledger has the same one, and a restored backup has that of its keys. It protects
-- from load only. Knowing it helps nobody to guess a key.
create table key_macs (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32)
);

-- Two random UUIDs have 244 random bits.
insert into key_macs (secret)
values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- Creates a key, unless its owner or member has the maximum of active keys. The lock on the account makes the count exact: of two
-- keys at once, the second sees the first.
create function create_api_key(
  key_id uuid, key_account uuid, key_name text, key_hash bytea, key_prefix text, active_keys_max integer,
  key_sealed bytea, key_sealed_by text, key_limits jsonb, key_member uuid
) returns text language plpgsql as $$
begin
  perform from accounts where id = key_account for update;
  if not found then
    return 'no_account';
  end if;
  if (
    select count(*) from api_keys
    where account_id = key_account and status = 'active' and member_id is not distinct from key_member
  ) >= active_keys_max then
    return 'too_many_keys';
  end if;
  insert into api_keys (id, account_id, name, hash, prefix, sealed, sealed_by, limits, member_id)
  values (
    key_id, key_account, key_name, key_hash, key_prefix, key_sealed, key_sealed_by,
    nullif(jsonb_strip_nulls(key_limits), '{}'), key_member
  );
  return 'created';
end
$$;

-- Actions of operators ------------------------------------------------------------------------------------------------

-- A row is written before its action, which is refused without it, and gets the status of the reply after it. An action
-- without a status may have been done or not.
create table operator_actions (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  -- A person's e-mail address, or the name of a token; of the shared token the first characters of its SHA-256.
  operator text not null,
  remote_address text not null,
  action text not null,
  account_id uuid,
  -- The request's parameters and fields as JSON. Text, because that takes anything that a request may have.
  details text not null,
  status smallint
);

create index operator_actions_operator on operator_actions (operator, id);
create index operator_actions_account on operator_actions (account_id, id) where account_id is not null;

create function only_complete_action() returns trigger language plpgsql as $$
begin
  if old.status is not null or to_jsonb(new) - 'status' is distinct from to_jsonb(old) - 'status' then
    raise exception 'operator_actions is append-only' using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;

create trigger operator_actions_complete before update on operator_actions
  for each row execute function only_complete_action();
create trigger operator_actions_append_only before delete or truncate on operator_actions
  for each statement execute function refuse_change();
