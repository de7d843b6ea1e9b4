-- Statements of accounts by month, for the plugin statements. A gateway without it does not make these tables.
--
-- A ledger row belongs to the month in which it was committed, in Vietnam (Asia/Ho_Chi_Minh). Rows of one account get their ids
-- while its wallet is locked, so the order of ids is that of commits: a statement has the rows between two ids, and the next
-- one begins after it. No row is in two statements or in none, whenever a statement is closed.

-- Closed statements: months with at least one row. They are numbered from 1 for each account.
create table statement_months (
  account_id uuid not null,
  number integer not null check (number > 0),
  -- `2026-11`
  month text not null,
  -- The last ledger row.
  through_id bigint not null,
  opening bigint not null,
  closing bigint not null,
  -- SHA-256 in hexadecimal digits: see the README of the plugin. That of the statement before is null in the first one.
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  previous_digest text,
  -- The parties and the VAT of an invoice, as JSON of the plugin. The digest lacks them.
  invoice text not null,
  closed_at timestamptz not null default now(),
  primary key (account_id, number)
);

create unique index statement_months_month on statement_months (month, account_id);

create trigger statement_months_append_only before update or delete or truncate on statement_months
  for each statement execute function refuse_change();

-- How far the rows of an account are in statements, and the statement that is being made: `month` is null if there is none.
create table statement_progress (
  account_id uuid primary key,
  number integer not null default 1,
  month text,
  through_id bigint not null default 0,
  opening bigint not null default 0,
  -- After the row `through_id`.
  balance bigint not null default 0,
  -- Movements so far in this statement.
  segment integer not null default 0,
  -- True if the statement has all its rows.
  is_whole boolean not null default false
) with (fillfactor = 50);

-- The rows of statements: each movement, and between two movements the charges of a day and model. In the order of the key the
-- balance after each movement is that of the ledger.
create table statement_rows (
  account_id uuid not null,
  number integer not null,
  -- The movements before a row, counting itself.
  segment integer not null,
  is_charges boolean not null,
  day date not null,
  -- Of charges; '' if their records have left the ledger.
  model text not null default '',
  calls bigint not null default 0,
  amount bigint not null,
  -- Of a movement, as the ledger has them.
  at timestamptz,
  kind text,
  reference text,
  reason text,
  balance_after bigint,
  primary key (account_id, number, segment, is_charges, day, model)
) with (fillfactor = 70);

create function refuse_closed_statement() returns trigger language plpgsql as $$
begin
  if exists (
    select from statement_months closed
    where (closed.account_id, closed.number) in ((new.account_id, new.number), (old.account_id, old.number))
  ) then
    raise exception 'a closed statement never changes: % is refused', lower(tg_op) using errcode = 'restrict_violation';
  end if;
  return coalesce(new, old);
end
$$;

create trigger statement_rows_closed before insert or update or delete on statement_rows
  for each row execute function refuse_closed_statement();
create trigger statement_rows_truncated before truncate on statement_rows
  for each statement execute function refuse_change();

-- Returns the next accounts in the order of their ids, and whether they have rows of months that ended by `over`.
create function statements_due(after_account uuid, over timestamptz, accounts_max integer)
returns table (account uuid, is_due boolean)
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
begin
  return query
    select wallet.account_id, coalesce(progress.month is not null or next_row.at < over, false)
    from (select account_id from wallets where account_id > after_account order by account_id limit accounts_max) wallet
    left join statement_progress progress using (account_id)
    left join lateral (
      select entry.at from ledger_entries entry
      where entry.account_id = wallet.account_id and entry.id > coalesce(progress.through_id, 0)
      order by entry.id limit 1
    ) next_row on progress.month is null
    order by 1;
end
$$;

create function end_of_month(month text) returns timestamptz language sql immutable as $$
  select ((month || '-01')::timestamp + interval '1 month') at time zone 'Asia/Ho_Chi_Minh'
$$;

-- Adds the next ledger rows of an account, at most so many, to its statement; begins one if the next row is of a month that
-- ended by `over`. Returns `none` if there is nothing to do, `more` if the month may have more rows, `whole` if the statement
-- waits for `close_statement`. Many processes may call it at once.
create function add_to_statement(wanted uuid, over timestamptz, rows_max integer) returns text
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  progress statement_progress;
  first_at timestamptz;
  first_day date;
  month_end timestamptz;
  taken_rows bigint;
begin
  insert into statement_progress (account_id) values (wanted) on conflict do nothing;
  select * into progress from statement_progress where account_id = wanted for update;
  if progress.is_whole then
    return 'whole';
  end if;
  if progress.month is null then
    select at into first_at from ledger_entries
      where account_id = wanted and id > progress.through_id order by id limit 1;
    -- A transaction that began before midnight may have waited for the wallet until its month was closed.
    progress.month := greatest(
      to_char(first_at at time zone 'Asia/Ho_Chi_Minh', 'YYYY-MM'),
      (
        select to_char((month || '-01')::timestamp + interval '1 month', 'YYYY-MM') from statement_months
        where account_id = wanted order by number desc limit 1
      )
    );
    if first_at is null or end_of_month(progress.month) > over then
      return 'none';
    end if;
    progress.opening := progress.balance;
    progress.segment := 0;
  end if;
  first_day := (progress.month || '-01')::date;
  month_end := end_of_month(progress.month);

  with page as materialized (
    select next.*, bool_or(at >= month_end) over (order by id) as is_later,
      count(*) filter (where call_id is null) over (order by id) as moved
    from (
      select id, at, kind, amount, balance_after, call_id, reference, reason from ledger_entries
      where account_id = wanted and id > progress.through_id order by id limit rows_max
    ) next
  ),
  taken as materialized (
    select page.*, (progress.segment + moved)::integer as segment,
      greatest((at at time zone 'Asia/Ho_Chi_Minh')::date, first_day) as day
    from page where not is_later
  ),
  calls as (
    select segment, day, amount, coalesce(record.model, '') as model
    from taken
    cross join lateral (
      -- The id of a call begins with its time.
      select to_timestamp(('x' || left(replace(call_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) as made_at
    ) id
    left join lateral (
      -- Nearly always the first of both.
      (select model from usage_records where at = made_at and usage_records.call_id = taken.call_id)
      union all
      (
        select model from usage_records
        where at between made_at - interval '1 minute' and made_at + interval '1 minute'
          and usage_records.call_id = taken.call_id
      )
      limit 1
    ) record on true
    where call_id is not null
  ),
  added_charges as (
    insert into statement_rows as row (account_id, number, segment, is_charges, day, model, calls, amount)
    select wanted, progress.number, segment, true, day, model, count(*), sum(amount)::bigint from calls
    group by segment, day, model
    on conflict (account_id, number, segment, is_charges, day, model) do update set
      calls = row.calls + excluded.calls, amount = row.amount + excluded.amount
  ),
  added_movements as (
    insert into statement_rows (
      account_id, number, segment, is_charges, day, amount, at, kind, reference, reason, balance_after
    )
    select wanted, progress.number, segment, false, day, amount, at, kind, reference, reason, balance_after
    from taken where call_id is null
  )
  select
    count(*), coalesce(max(id), progress.through_id),
    coalesce((array_agg(balance_after order by id desc))[1], progress.balance),
    coalesce(max(segment), progress.segment)
  into taken_rows, progress.through_id, progress.balance, progress.segment
  from taken;

  progress.is_whole := taken_rows < rows_max;
  update statement_progress set month = progress.month, through_id = progress.through_id, opening = progress.opening,
    balance = progress.balance, segment = progress.segment, is_whole = progress.is_whole
    where account_id = wanted;
  return case when progress.is_whole then 'whole' else 'more' end;
end
$$;

-- Closes the statement of an account that has all its rows. Returns false if another process has done so.
create function close_statement(
  wanted uuid, wanted_number integer, own_digest text, digest_before text, own_invoice text
) returns boolean language plpgsql as $$
declare
  progress statement_progress;
begin
  select * into progress from statement_progress where account_id = wanted for update;
  if not progress.is_whole or progress.number <> wanted_number then
    return false;
  end if;
  insert into statement_months (
      account_id, number, month, through_id, opening, closing, digest, previous_digest, invoice
    )
    values (
      wanted, progress.number, progress.month, progress.through_id, progress.opening, progress.balance, own_digest,
      digest_before, own_invoice
    );
  update statement_progress set number = progress.number + 1, month = null, is_whole = false where account_id = wanted;
  return true;
end
$$;

-- Drops a statement that has all its rows and cannot be closed, so that it is made again of what the ledger has.
create function discard_statement(wanted uuid, wanted_number integer) returns void
language plpgsql as $$
declare
  progress statement_progress;
begin
  select * into progress from statement_progress where account_id = wanted for update;
  if not progress.is_whole or progress.number <> wanted_number then
    return;
  end if;
  delete from statement_rows where account_id = wanted and number = wanted_number;
  update statement_progress set month = null, is_whole = false, balance = opening, through_id = coalesce(
      (select through_id from statement_months where account_id = wanted and number = wanted_number - 1), 0
    ) where account_id = wanted;
end
$$;
