-- The buyers that customers have entered for VAT invoices.
create table statements_customers (
  account_id uuid primary key references accounts,
  buyer_name text not null,
  buyer_tax_code text not null,
  buyer_address text not null
);
