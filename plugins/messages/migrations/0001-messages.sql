-- The outbox: a message is written here with its cause, and any gateway sends it. Texts with a secret, such as links that sign
-- their reader in, are never stored.

-- What customers have set. Rows exist only for those who have set something.
create table message_settings (
  account_id uuid primary key references accounts on delete cascade,
  -- The kinds that the customer does not want.
  off text[] not null default '{}',
  -- In µđ: a mail says when the balance falls below it. Null: the default of the config.
  low_balance bigint check (low_balance >= 0)
);

-- Texts for all customers. The first line of each is the subject.
create table message_announcements (
  name text primary key,
  vi text not null,
  en text not null,
  made_at timestamptz not null
);

create table messages (
  id bigint generated always as identity primary key,
  -- What the message is about, so that one cause has one message.
  cause text not null unique,
  -- The customer whom it is mailed to; null for a message to operators.
  account_id uuid references accounts on delete cascade,
  -- An address that may have no account; null: that of the account.
  email text,
  -- A channel to operators: a mail address, `webhook` or `telegram`.
  channel text,
  kind text not null,
  -- Of a message to operators: what it is about, the same from beginning to end.
  about text,
  -- {"vi": {"subject", "paragraphs"}, "en": …}; null for an announcement.
  texts json,
  announcement text references message_announcements,
  -- Proves to the gateway that its mail was received, to switch the kind off without signing in.
  token uuid not null default gen_random_uuid(),
  created_at timestamptz not null,
  -- When it is sent, or sent again. A gateway that sends it moves this into the future first.
  due_at timestamptz not null,
  attempts integer not null default 0,
  -- The code of the last attempt's failure; null while one is under way.
  failure text,
  -- Also of one that has no recipient: that is its failure.
  sent_at timestamptz,
  -- When it was given up.
  failed_at timestamptz,
  check (num_nonnulls(texts, announcement) = 1),
  check (num_nonnulls(account_id, channel) = 1)
);

-- The look at the ledger for messages about money: one gateway at a time.
create table message_looks (
  is_only boolean primary key default true check (is_only),
  -- The ledger row to go on after; null before the first look.
  through bigint,
  due_at timestamptz not null
);

insert into message_looks (due_at) values ('-infinity');

-- Accounts whose owner got a mail about a low balance, until it is above the threshold again.
create table message_lows (
  account_id uuid primary key references accounts on delete cascade
);

-- What needs a person, as gateways see it.
create table message_troubles (
  cause text primary key,
  -- Its words in both languages, and its page.
  trouble json not null,
  began_at timestamptz not null,
  -- When a gateway saw it last.
  seen_at timestamptz not null,
  -- When operators were told of it last; null: not yet.
  told_at timestamptz,
  -- When the newest of its parts began, if it has parts, and that of those that operators were told of.
  newest_at timestamptz,
  told_newest_at timestamptz
);

-- Those to operators come first, those to all customers last.
create index messages_due on messages ((channel is null), (announcement is not null or kind = 'statement'), due_at, id)
  where sent_at is null and failed_at is null;
create index messages_channel on messages (channel, sent_at) where channel is not null;
create index messages_sent on messages (sent_at) where sent_at is not null;
create index messages_failed on messages (id) where failed_at is not null;
create index messages_account on messages (account_id, id) where account_id is not null;
