import { version } from '../../sdk/version.ts'
import type { CliContext } from '../context.ts'

/** Options of every client that this program creates. */
export const clientOptions = async ({ fetch, random, signal }: CliContext, ca?: string) => ({
  client: { name: 'bridge', version },
  fetch: await fetch(ca),
  random,
  signal,
})
