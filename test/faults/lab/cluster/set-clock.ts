/** Puts a function that a test can set in place of the clock that the nodes read. */
export const clockThatCanBeSet = `
  CREATE SCHEMA shim;
  CREATE TABLE shim.clock (ahead interval);
  INSERT INTO shim.clock VALUES ('0');
  CREATE FUNCTION shim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM shim.clock';
  ALTER ROLE postgres IN DATABASE postgres SET search_path = public, shim, pg_catalog`
