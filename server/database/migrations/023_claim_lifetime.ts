/** Lifetime of a claim that is shorter than its task allows. */
export const sql = `
ALTER TABLE tasks ADD COLUMN claim_own_ttl_seconds INTEGER;
`
