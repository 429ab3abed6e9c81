/** Last step of every way to sign in: stores the session and prints whose it is. Contract §10 "Sign-in". */
import type { Owner, OwnerSession, SignInWith } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { clientOptions } from '../startup/client-options.ts'
import { withOwnerHints } from './client.ts'
import { saveOwnerProfile } from './profile.ts'

/** Proof without the address: name and password, a link, or the set-up of a new node. */
export type SignInProof =
  | SignInWith
  | { readonly token: string; readonly name: string; readonly password: string }

/** Signs in at a node, stores the session in the profile, and prints it. */
export async function signInAt(
  context: CliContext,
  baseUrl: string,
  proof: SignInProof,
  ca?: string,
): Promise<void> {
  const { owner, session } = await signedInAt(context, baseUrl, proof, ca)
  await owner.close()
  context.output.result(session, `${sessionText(session)} at ${baseUrl}`)
}

/** Signs in at a node and stores the session in the profile. The caller closes the owner. */
export async function signedInAt(
  context: CliContext,
  baseUrl: string,
  proof: SignInProof,
  ca?: string,
): Promise<{ readonly owner: Owner; readonly session: OwnerSession }> {
  const options = { ...(await clientOptions(context, ca)), baseUrl }
  return withOwnerHints(async () => {
    const { Owner } = await import('../../sdk/index.ts')
    const owner = await ('token' in proof
      ? Owner.setup({ ...options, ...proof })
      : Owner.signIn({ ...options, ...proof }))
    const { kept, session } = signedIn(owner)
    await saveOwnerProfile(context, { ...kept, name: session.user.name, ...(ca !== undefined && { ca }) })
    return { owner, session }
  }, baseUrl)
}

function signedIn(owner: Owner) {
  const kept = owner.keep()
  if (kept === undefined || owner.session === undefined) throw new TypeError('an owner that is not signed in')
  return { kept, session: owner.session }
}

export const sessionText = ({ user, expires_at }: OwnerSession): string =>
  `signed in as ${user.name} (${user.role}) until ${expires_at}`
