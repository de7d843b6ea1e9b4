-- Money is bigint µđ. A wallet holds at most 2^53 − 1 µđ, the largest integer that the hot path counts exactly.

create table accounts (
  id uuid primary key,
  email text not null,
  status text not null default 'active' check (status in ('active', 'suspended')),
  discount_bps integer not null default 0 check (discount_bps between 0 and 10000),
  created_at timestamptz not null default now()
);

create unique index accounts_email on accounts (lower(email));

create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  name text not null,
  hash bytea not null unique check (octet_length(hash) = 32),
  prefix text not null,
  status text not null default 'active' check (status in ('active', 'revoked')),
  -- Null: the configured default. 0: not limited.
  requests_per_minute integer check (requests_per_minute >= 0),
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  check ((status = 'revoked') = (revoked_at is not null))
);

create index api_keys_account on api_keys (account_id);

-- The balance after the last ledger row of an account. Its row lock orders all movements of one account.
create table wallets (
  account_id uuid primary key references accounts,
  balance bigint not null default 0 check (balance between 0 and 9007199254740991),
  -- Counts the movements other than charges, and their sum: what a hot store needs to catch up.
  credit_version integer not null default 0,
  credited bigint not null default 0
) with (fillfactor = 50);

-- Every movement of money, for ever. The account is not a foreign key: a movement is only ever written
-- beside the locked wallet of its account, and a check per row would cost a tenth of the settlement rate.
create table ledger_entries (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  kind text not null check (kind in ('charge', 'topup', 'adjustment')),
  amount bigint not null,
  balance_after bigint not null check (balance_after between 0 and 9007199254740991),
  call_id uuid,
  reference text,
  reason text,
  at timestamptz not null default now(),
  check (
    case kind
      when 'charge' then amount < 0 and call_id is not null and reference is null
      when 'topup' then amount > 0 and call_id is null and reference is not null
      else amount <> 0 and call_id is null and reference is not null
    end
  )
);

-- No call is charged twice, no credit is given twice, whatever the code above believes.
create unique index ledger_entries_call on ledger_entries (call_id) where call_id is not null;
create unique index ledger_entries_reference on ledger_entries (reference) where reference is not null;
create index ledger_entries_account on ledger_entries (account_id, id) include (amount);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % is refused', tg_table_name, lower(tg_op)
    using errcode = 'restrict_violation';
end
$$;

create trigger ledger_entries_append_only
  before update or delete or truncate on ledger_entries
  for each statement execute function refuse_change();

-- One row per call, its metadata only, in one partition per month (UTC) of its start.
create table usage_records (
  call_id uuid not null,
  at timestamptz not null,
  account_id uuid not null,
  key_id uuid not null,
  endpoint text not null,
  model text not null,
  mapped_from text,
  upstream text,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  images integer not null,
  charged bigint not null check (charged >= 0),
  written_off bigint not null check (written_off >= 0),
  discount_bps integer not null,
  latency_ms double precision not null,
  first_byte_ms double precision,
  status smallint not null,
  streamed boolean not null,
  outcome text not null,
  estimated boolean not null,
  primary key (at, call_id)
) partition by range (at);

create index usage_records_account on usage_records (account_id, at desc, call_id desc);

-- Makes the partition that holds `moment`; does nothing where there is one. Processes may race for it.
create function make_usage_partition(moment timestamptz) returns void language plpgsql as $$
declare
  first_day timestamp := date_trunc('month', moment at time zone 'UTC');
  partition_name text := 'usage_records_' || to_char(first_day, 'YYYY_MM');
begin
  if to_regclass(partition_name) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext('make_usage_partition'));
  execute format(
    'create table if not exists %I partition of usage_records for values from (%L) to (%L)',
    partition_name,
    first_day at time zone 'UTC',
    (first_day + interval '1 month') at time zone 'UTC'
  );
end
$$;

-- Calls that the database refused to settle, kept for a person to look at: text, since it takes anything.
create table quarantine (
  call_id text primary key,
  entry text not null,
  error text not null,
  at timestamptz not null default now()
);
