-- One row: whether calls are refused, and what their clients are told then.
create table maintenance (
  only_row boolean primary key default true check (only_row),
  enabled boolean not null,
  message text,
  since timestamptz not null
);

insert into maintenance (enabled, message, since) values (false, null, now());
