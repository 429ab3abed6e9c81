/** The loop guard counts by the numbers of a conversation: a send has one index less to write. */
export const sql = `
DROP INDEX messages_budget;
`
