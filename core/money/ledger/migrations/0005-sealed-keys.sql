-- A key's text, encrypted so that its owner can read it again. `sealed_by` names the master key, by which the
-- rotation finds what is sealed under an old one. Keys made without a master key have neither.
alter table api_keys
  add column sealed bytea,
  add column sealed_by text,
  add constraint api_keys_sealed check ((sealed is null) = (sealed_by is null));

-- The defaults let gateways of the version before go on making keys.
drop function create_api_key(uuid, uuid, text, bytea, text, integer);

create function create_api_key(
  key_id uuid, key_account uuid, key_name text, key_hash bytea, key_prefix text, active_keys_max integer,
  key_sealed bytea default null, key_sealed_by text default null
) returns text language plpgsql as $$
begin
  -- The lock on the account makes the count exact: of two keys at once, the second sees the first.
  perform from accounts where id = key_account for update;
  if not found then
    return 'no_account';
  end if;
  if (
    select count(*) from api_keys where account_id = key_account and status = 'active'
  ) >= active_keys_max then
    return 'too_many_keys';
  end if;
  insert into api_keys (id, account_id, name, hash, prefix, sealed, sealed_by)
  values (key_id, key_account, key_name, key_hash, key_prefix, key_sealed, key_sealed_by);
  return 'created';
end
$$;
