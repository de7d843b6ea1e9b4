-- A call in quarantine has been charged where calls are held, and not here: a wallet that is read for a hot store
-- must not bring that money back, or settling the call later would leave the two apart. The account is text, since
-- an entry may be here because its account is none. Entries from before this migration count as nothing.
alter table quarantine
  add column account_id text,
  add column charged bigint not null default 0 check (charged >= 0);

create index quarantine_account on quarantine (account_id);
