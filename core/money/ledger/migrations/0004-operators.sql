-- When what is known of a key last changed: its account's status or discount, or its own status or limit. Other
-- processes look for recent changes and forget what they know. Two columns, not one, so that a change of a
-- key needs no lock on its account.
alter table accounts add column changed_at timestamptz;
alter table api_keys add column changed_at timestamptz;
create index accounts_changed on accounts (changed_at) where changed_at is not null;
create index api_keys_changed on api_keys (changed_at) where changed_at is not null;

create function note_change() returns trigger language plpgsql as $$
begin
  new.changed_at := clock_timestamp();
  return new;
end
$$;

create trigger accounts_change before update of status, discount_bps on accounts
  for each row execute function note_change();
create trigger api_keys_change before update of status, requests_per_minute on api_keys
  for each row execute function note_change();

-- What operators did. A row is written before its action, which is not done without it, and completed with
-- the status that was answered; a row that has none is of an action that may have been done or not.
create table operator_actions (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  -- The first characters of the SHA-256 of the token that was used.
  operator text not null,
  remote_address text not null,
  action text not null,
  account_id uuid,
  -- The request's parameters and fields, JSON; text, since it takes anything that a request may hold.
  details text not null,
  status smallint
);

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
