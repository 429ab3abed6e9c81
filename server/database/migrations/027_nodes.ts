/**
 * Several nodes on one PostgreSQL database: how each of them fares, which of them leads, and the oldest
 * program that may serve beside the others. SQLite has one node and needs nothing.
 */
export const sql = `
SELECT 1;
`
export const postgres = `
ALTER TABLE nodes
  ADD COLUMN name text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN version text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN program bigint NOT NULL DEFAULT 26,
  ADD COLUMN alone bigint NOT NULL DEFAULT 1 CHECK (alone IN (0, 1)),
  ADD COLUMN beat bigint NOT NULL DEFAULT 0,
  ADD COLUMN load_percent double precision NOT NULL DEFAULT 0,
  ADD COLUMN waits bigint NOT NULL DEFAULT 0,
  ADD COLUMN lag_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE nodes SET (fillfactor = 50);
CREATE TABLE leases (
  name text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  until timestamptz NOT NULL
);
CREATE TABLE oldest_program (
  one bigint PRIMARY KEY CHECK (one = 1),
  number bigint NOT NULL
);
INSERT INTO oldest_program (one, number) VALUES (1, 27);
`
