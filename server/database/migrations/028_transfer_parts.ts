/** The parts of packages that an object store holds. A data folder has its own record of its parts. */
export const sql = `
CREATE TABLE transfer_parts (
  transfer_id TEXT NOT NULL REFERENCES transfers (id),
  part INTEGER NOT NULL,
  project_id TEXT NOT NULL REFERENCES projects (id),
  PRIMARY KEY (transfer_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX transfer_parts_by_project ON transfer_parts (project_id);
`
export const postgres = `
CREATE TABLE transfer_parts (
  transfer_id text COLLATE "C" NOT NULL REFERENCES transfers (id),
  part bigint NOT NULL,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  PRIMARY KEY (transfer_id, part)
);
CREATE INDEX transfer_parts_by_project ON transfer_parts (project_id);
`
