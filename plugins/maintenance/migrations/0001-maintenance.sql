-- One row: whether calls are taken, and what their clients are told where they are not.
create table maintenance (
  only_row boolean primary key default true check (only_row),
  enabled boolean not null,
  message text,
  since timestamptz not null
);

insert into maintenance (enabled, message, since) values (false, null, now());
