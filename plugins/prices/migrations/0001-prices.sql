-- The prices and discounts that gateways with this ledger serve by, as the last start or reload has left them: what the
-- next one is compared with. `revision` tells apart two gateways that record a change at once.
create table price_list (
  is_only boolean primary key default true check (is_only),
  revision bigint not null default 0,
  entries text not null default '[]'
);

insert into price_list default values;

-- The history of prices. Amounts are in millionths of the unit.
create table price_changes (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  operator text not null,
  remote_address text not null,
  change text not null,
  -- Null for a discount, or a feature of an upstream.
  model text,
  kind text not null,
  unit text not null,
  -- Null for a price that is new.
  before bigint,
  -- Null for one that is gone.
  after bigint,
  -- When an announced price takes effect.
  takes_effect timestamptz
);

create index price_changes_model on price_changes (model, id);

create trigger price_changes_append_only before update or delete or truncate on price_changes
  for each statement execute function refuse_change();

-- The reloads that operators asked one gateway for, which the others follow.
create table reloads (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  operator text not null,
  remote_address text not null
);
