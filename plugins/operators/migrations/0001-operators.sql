-- Operators, their sessions, named tokens, and movements of money that wait for a second person. The tables of
-- plugins/operators.

create table operators (
  id uuid primary key,
  -- In lower case.
  email text not null unique,
  role text not null check (role in ('viewer', 'support', 'finance', 'operations', 'owner')),
  -- In the PHC form of argon2id. Null until the person has opened the link.
  password_hash text,
  -- Of the link with which the person sets the password; null once it is used.
  link_hash bytea unique check (octet_length(link_hash) = 32),
  link_ends_at timestamptz,
  -- The second factor, sealed as API keys are, bound to this id.
  sealed bytea,
  sealed_by text,
  -- False until the person has entered a first code. Only the demo's operator stays without.
  has_factor boolean not null default false,
  -- The time step of the last code that was accepted. No code of this step or an earlier one counts again.
  last_step bigint not null default 0,
  made_at timestamptz not null,
  -- A removed person stays, since approvals name it.
  removed_at timestamptz
);

create table operator_recovery_codes (
  code_hash bytea primary key check (octet_length(code_hash) = 32),
  operator_id uuid not null references operators
);

create index operator_recovery_codes_operator on operator_recovery_codes (operator_id);

create table operator_sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  operator_id uuid not null references operators,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  -- When the person last gave the password or a code.
  proven_at timestamptz not null
);

create index operator_sessions_operator on operator_sessions (operator_id);

-- Tokens of programs, each with a name, a role and an end.
create table operator_tokens (
  id uuid primary key,
  name text not null,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  role text not null check (role in ('viewer', 'support', 'finance', 'operations', 'owner')),
  -- Who made it: a movement that it proposes cannot be approved by that person.
  person text not null,
  made_at timestamptz not null,
  ends_at timestamptz not null,
  revoked_at timestamptz
);

create unique index operator_tokens_name on operator_tokens (name) where revoked_at is null;

-- A request that moves much money. `pending`: waits for a second person; `approved`: is being carried out; `done`;
-- `failed`: approved, but refused by the wallet; `refused`; `expired`.
create table operator_approvals (
  id uuid primary key,
  -- Of the request: its reference, or all of it. The same one waits once.
  key bytea not null check (octet_length(key) = 32),
  reference text,
  method text not null,
  path text not null,
  body text not null,
  -- Null: of vouchers, which any customer may redeem.
  account_id uuid,
  -- In µđ. Below 0: money is taken away.
  amount bigint not null,
  reason text,
  proposed_by text not null,
  proposed_person text not null,
  proposed_at timestamptz not null,
  state text not null check (state in ('pending', 'approved', 'done', 'failed', 'refused', 'expired')),
  decided_by text,
  -- Only a refusal, which withdraws the request, can be the proposer's own.
  decided_person text check (decided_person <> proposed_person or state = 'refused'),
  decided_at timestamptz,
  note text
);

create unique index operator_approvals_open on operator_approvals (key) where state in ('pending', 'approved');
create index operator_approvals_key on operator_approvals (key, id);
create index operator_approvals_state on operator_approvals (state, id);
