-- The same functions as before, but they lock the account by core's function: accounts are core's table.

-- Null where there is no such token. The link proves the address, and whoever was signed in no longer is.
create or replace function reset_password(reset_token bytea, new_hash text, reset_at timestamptz) returns uuid
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
create or replace function change_password(
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

-- False where the password that was checked is no longer the account's. The oldest session makes room.
create or replace function open_session(
  owner uuid, checked_hash text, session uuid, session_token bytea, opened_at timestamptz,
  remote text, agent text, sessions_max integer
) returns boolean language plpgsql as $$
begin
  perform lock_account(owner);
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
