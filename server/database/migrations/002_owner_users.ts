/** People who sign in: the owner, and administrators of single projects. */
export const sql = `
CREATE TABLE owner_users (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL CHECK (role IN ('owner', 'administrator')),
  password TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled')),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX owner_users_one_owner ON owner_users (role) WHERE role = 'owner';
`
