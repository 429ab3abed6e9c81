/**
 * The last reading of the wall clock and of the steady clock, by which lifetimes run. The steady clock begins as the wall
 * clock, so the offset that was taken off the ends of claims, transfers and endpoints is added again.
 */
export const sql = `
UPDATE tasks
  SET claim_ends_at = strftime('%Y-%m-%dT%H:%M:%fZ', claim_ends_at,
    (SELECT printf('%+.3f seconds', offset_ms / 1000.0) FROM lease_clock))
  WHERE claim_ends_at IS NOT NULL AND EXISTS (SELECT 1 FROM lease_clock WHERE offset_ms <> 0);
UPDATE transfers
  SET ends_at = strftime('%Y-%m-%dT%H:%M:%fZ', ends_at,
    (SELECT printf('%+.3f seconds', offset_ms / 1000.0) FROM lease_clock))
  WHERE ends_at IS NOT NULL AND EXISTS (SELECT 1 FROM lease_clock WHERE offset_ms <> 0);
UPDATE transfer_secrets
  SET expires_at = strftime('%Y-%m-%dT%H:%M:%fZ', expires_at,
    (SELECT printf('%+.3f seconds', offset_ms / 1000.0) FROM lease_clock))
  WHERE EXISTS (SELECT 1 FROM lease_clock WHERE offset_ms <> 0);
DROP TABLE lease_clock;
CREATE TABLE steady_clock (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  wall_ms INTEGER NOT NULL,
  steady_ms INTEGER NOT NULL
) STRICT;
`
