-- An operator finds an account by the first characters of a key. Without an index that read all keys.
-- Keys have plain ASCII characters: the order of bytes serves any beginning.
create index api_keys_prefix on api_keys (prefix collate "C");
