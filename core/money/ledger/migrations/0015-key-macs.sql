-- New keys end with a MAC under this secret, so that a gateway refuses a guessed key without reading the ledger. It lies
-- beside the keys: every gateway of the ledger has the same one, and a restored backup has the one of its keys. It
-- protects from load only. Whoever knows it can guess no key faster than before.
create table key_macs (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32)
);

-- Two random UUIDs have 244 random bits.
insert into key_macs (secret)
values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- False for keys of earlier versions, which go on working. While an active one exists, guesses that look like them cost
-- a read.
alter table api_keys add column has_mac boolean not null default false;

create index api_keys_without_mac on api_keys (id) where not has_mac and status = 'active';

-- Beside `create_api_key`, which gateways of the version before go on calling.
create function create_api_key_with_mac(
  key_id uuid, key_account uuid, key_name text, key_hash bytea, key_prefix text, active_keys_max integer,
  key_sealed bytea, key_sealed_by text
) returns text language plpgsql as $$
declare
  outcome text := create_api_key(
    key_id, key_account, key_name, key_hash, key_prefix, active_keys_max, key_sealed, key_sealed_by
  );
begin
  if outcome = 'created' then
    update api_keys set has_mac = true where id = key_id;
  end if;
  return outcome;
end
$$;
