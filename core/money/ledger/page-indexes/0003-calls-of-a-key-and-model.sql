-- A filter by model and key read every call of the key, or of the model, of all days on which the key called the model:
-- 30 seconds and more for a key and a model that are busy, but seldom with each other. The last: the same for failed calls.
-- Made here for small tables only: one of a month with millions of calls takes a minute, in which no call of it can be
-- committed. Those are made one by one while the gateway serves: see usage-indexes.ts. New months get theirs as they are
-- made.
create index usage_records_key_model on only usage_records (key_id, model, at desc);
create index usage_records_failed_of_key_model on only usage_records (key_id, model, status, at desc) where status <> 200;

-- Makes both indexes of the table of a month, if they are missing.
create function make_key_model_indexes(part regclass) returns void language plpgsql as $$
declare
  parent regclass;
begin
  -- One process at a time. Another may have made them before.
  perform pg_advisory_xact_lock(hashtext('make_key_model_indexes'));
  foreach parent in array array['usage_records_key_model', 'usage_records_failed_of_key_model']::regclass[] loop
    if not exists (
      select from pg_index child join pg_inherits on inhrelid = child.indexrelid
      where child.indrelid = part and inhparent = parent
    ) then
      execute regexp_replace(
        pg_get_indexdef(parent), ' INDEX \S+ ON ONLY \S+', format(' INDEX %I ON %s', part || replace(parent::text, 'usage_records', ''), part)
      );
      execute format('alter index %s attach partition %I', parent, part || replace(parent::text, 'usage_records', ''));
    end if;
  end loop;
end
$$;

select make_key_model_indexes(inhrelid) from pg_inherits
where inhparent = 'usage_records'::regclass and pg_relation_size(inhrelid) < 8 * 1024 * 1024;
