/** Values of the running server that a scrape reads. `server/observe.ts` supplies them. */

type Reading = Readonly<Record<string, number>>

export interface Observed {
  readonly version: string
  waits(): Reading
  queues(): Reading
  sessions(): Promise<Reading>
  storage(): Promise<Reading>
  disk(): Promise<Reading>
  readiness(): Promise<Reading>
  peers(): Reading
  notifications(): Reading
}
