-- Indexes that only pages of calls need. A gateway without such pages does not make them.
--
-- Pages filter calls by model, key and status. Each filter finds its newest calls by an index of its own, in the order in
-- which they are shown, however rare they are among an account's calls, and however long ago. The filter's column leads, so
-- that a page can ask for this very index: see usage-page-statement.ts. The indexes end with the time and leave out the
-- call's id: the few calls of one millisecond are sorted when they are read, and the indexes are half the size. A key
-- is of one account, so its indexes need no account.
create index usage_records_model on usage_records (model, account_id, at desc);
create index usage_records_key on usage_records (key_id, at desc);
-- Nearly all calls are sound: the index of those of the account finds them.
create index usage_records_failed on usage_records (status, account_id, at desc) where status <> 200;
-- A key and a model that are busy, but seldom with each other.
create index usage_records_key_model on usage_records (key_id, model, at desc);

-- Failed calls of a model, a key, or both. Few calls fail, so these cost next to nothing.
create index usage_records_failed_of_model on usage_records (model, account_id, status, at desc) where status <> 200;
create index usage_records_failed_of_key on usage_records (key_id, status, at desc) where status <> 200;
create index usage_records_failed_of_key_model on usage_records (key_id, model, status, at desc) where status <> 200;
