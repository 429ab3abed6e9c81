/** Changes rows without notifying the server: rows that a test needs to be old must have been stored long ago. */
export { withStore as tamper } from './test-store.ts'

export const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()
