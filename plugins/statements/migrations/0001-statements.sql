-- The settings of customers for statements. Rows exist only for those who have set something.
create table statements_customers (
  account_id uuid primary key references accounts,
  -- False: no mails about closed statements.
  is_mailed boolean not null default true,
  -- For VAT invoices; all null or none.
  buyer_name text,
  buyer_tax_code text,
  buyer_address text,
  check (num_nulls(buyer_name, buyer_tax_code, buyer_address) in (0, 3))
);

-- Mails about closed statements that were sent, or that a gateway is sending: of two gateways one inserts the row. A gateway that
-- is killed while it sends leaves the row, so that no mail is sent twice.
create table statements_mails (
  account_id uuid not null references accounts,
  month text not null,
  claimed_at timestamptz not null default now(),
  primary key (month, account_id)
);
