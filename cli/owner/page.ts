/** Addresses of the owner's page. A browser needs whole ids, so these lines keep them. Contract §11. */
import type { CliContext } from '../context.ts'
import { loadOwnerProfile } from './profile.ts'

/** Prints the address of a path on standard error, as the last line for people. Prints nothing with --json. */
export async function showPage(context: CliContext, path: string): Promise<void> {
  if (context.output.json) return
  const profile = await loadOwnerProfile(context)
  if (profile !== undefined) context.io.err(`on the owner's page: ${profile.portal_origin}${path}\n`)
}
