-- Makes a limit, and changes nothing if it is there: in one step, so that a first total never undoes one that an operator
-- has just set. Returns as `change_wallet_limit`, or 'exists'.
create function create_wallet_limit(
  changed_account uuid, limit_name text, first_total bigint,
  change_reference text, change_reason text, limits_max integer
) returns text language plpgsql as $$
begin
  perform from wallets where account_id = changed_account for update;
  if exists (
    select from wallet_limits where account_id = changed_account and name = limit_name
  ) then
    return 'exists';
  end if;
  return change_wallet_limit(
    changed_account, limit_name, 'set', first_total, change_reference, change_reason, limits_max
  );
end
$$;
