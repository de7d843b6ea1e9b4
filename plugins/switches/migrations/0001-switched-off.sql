-- Upstreams that operators have switched off: all of one, or one model or one key of it. Empty: all.
create table switched_off (
  upstream text not null,
  model text not null,
  -- The id that every gateway gives the key, not the key.
  key text not null,
  since timestamptz not null default now(),
  primary key (upstream, model, key)
);
