-- The outbox of mails without a secret: a mail is written here with its cause, and any gateway sends it. Links that let their
-- reader in are never stored.

-- False: the customer wants no announcements.
alter table account_credentials add column announcements boolean not null default true;

-- Texts for all customers. The first line of each is the subject.
create table account_announcements (
  name text primary key,
  vi text not null,
  en text not null,
  made_at timestamptz not null
);

create table account_messages (
  id bigint generated always as identity primary key,
  -- What the mail is about, so that one cause has one mail.
  cause text not null unique,
  account_id uuid not null references accounts on delete cascade,
  kind text not null,
  -- A line of the mail; of an announcement its name.
  about text,
  created_at timestamptz not null,
  -- When it is sent, or sent again. A gateway that sends it moves this into the future first.
  due_at timestamptz not null,
  attempts integer not null default 0,
  -- The code of the last failure.
  failure text,
  sent_at timestamptz,
  -- When it was given up.
  failed_at timestamptz
);

create index account_messages_due on account_messages (due_at, id) where sent_at is null and failed_at is null;
create index account_messages_sent on account_messages (sent_at) where sent_at is not null;
create index account_messages_failed on account_messages (id) where failed_at is not null;
