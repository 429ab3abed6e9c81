/** Functions of SQLite that the SQL of tests uses, in a schema of their own on PostgreSQL. */
export const sqliteWords = `
  CREATE SCHEMA sqlite_words;
  CREATE FUNCTION sqlite_words.json_extract(document text, path text) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT document::json #>> string_to_array(substr(path, 3), '.') $$;
  CREATE FUNCTION sqlite_words.json_each(document text, path text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE AS
    $$ SELECT json_array_elements_text(document::json #> string_to_array(substr(path, 3), '.')) $$;
  CREATE FUNCTION sqlite_words.json_set(document text, path text, value bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT jsonb_set(document::jsonb, string_to_array(substr(path, 3), '.'), to_jsonb(value))::text $$;
  CREATE FUNCTION sqlite_words.printf(pattern text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT replace(pattern, '%012x', lpad(to_hex(n), 12, '0')) $$`
