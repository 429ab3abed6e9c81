/** Transfers end by the time of leases, which a step of the clock does not move: what was noted of steps is taken off. */
export const sql = `
UPDATE transfers
  SET ends_at = strftime('%Y-%m-%dT%H:%M:%fZ', ends_at,
    (SELECT printf('%+.3f seconds', -offset_ms / 1000.0) FROM lease_clock))
  WHERE ends_at IS NOT NULL AND EXISTS (SELECT 1 FROM lease_clock WHERE offset_ms <> 0);
UPDATE transfer_secrets
  SET expires_at = strftime('%Y-%m-%dT%H:%M:%fZ', expires_at,
    (SELECT printf('%+.3f seconds', -offset_ms / 1000.0) FROM lease_clock))
  WHERE EXISTS (SELECT 1 FROM lease_clock WHERE offset_ms <> 0);
`
