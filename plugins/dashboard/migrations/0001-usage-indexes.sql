-- The usage page filters by model, key and outcome. Each filter finds its newest calls by an index of its own,
-- in the order in which they are shown, however rare they are among an account's calls.
create index usage_records_account_model on usage_records (account_id, model, at desc, call_id desc);
create index usage_records_account_key on usage_records (account_id, key_id, at desc, call_id desc);
create index usage_records_account_status on usage_records (account_id, status, at desc, call_id desc);
