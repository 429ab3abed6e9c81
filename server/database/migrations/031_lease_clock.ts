/** By how much the wall clock was stepped while claims were held: what to take off it for the time of leases. */
export const sql = `
CREATE TABLE lease_clock (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  offset_ms INTEGER NOT NULL
) STRICT;
`
