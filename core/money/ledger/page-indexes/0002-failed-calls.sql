-- A filter by model or key and by failed calls read all calls of the model, or all failed calls: both grow without a
-- limit. Few calls fail, so these indexes cost nearly nothing. The page asks for one status at a time, and the column
-- that its order begins with must lead: see usage-page-statement.ts.
create index usage_records_failed_of_model on usage_records (model, account_id, status, at desc) where status <> 200;
create index usage_records_failed_of_key on usage_records (key_id, status, at desc) where status <> 200;
