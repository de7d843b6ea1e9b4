-- The usage page filters by model, key and status. Each filter finds its newest calls by an index of its own, in
-- the order in which they are shown, however rare they are among an account's calls, and however long ago.
-- The filter's column leads, so that the page can ask for this very index: see usage-records.ts. They end with the
-- time and leave the call's id out: the few calls of one millisecond are sorted when they are read, and the
-- indexes are half the size. A key is of one account, so its index needs no account.
create index usage_records_model on usage_records (model, account_id, at desc);
create index usage_records_key on usage_records (key_id, at desc);
create index usage_records_status on usage_records (status, account_id, at desc);
