/** Functions of SQLite that the SQL of tests uses, in a schema of their own on PostgreSQL. */
export const sqliteWords = `
  CREATE SCHEMA sqlite_words;
  CREATE FUNCTION sqlite_words.json_extract(document text, path text) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT document::jsonb #>> string_to_array(substr(path, 3), '.') $$;
  CREATE FUNCTION sqlite_words.printf(pattern text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT replace(pattern, '%012x', lpad(to_hex(n), 12, '0')) $$`
