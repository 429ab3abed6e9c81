/**
 * First requests of the page: whether the address is the right one, and who is signed in.
 *
 * The token of a link is taken out of the address before the first request.
 */
import { signal } from '@preact/signals'
import { BridgeError, type Health } from '../../../sdk/browser.ts'
import { hearOtherTabs } from './live/same-person.ts'
import { owner, readSession, session } from './owner.ts'

export type Boot =
  | { readonly state: 'loading' }
  | { readonly state: 'wrong_origin'; readonly health: Health }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'ready' }

export const booted = signal<Boot>({ state: 'loading' })

let token: string | undefined

/** Returns the token of the link once. */
export function takeToken(): string | undefined {
  const taken = token
  token = undefined
  return taken
}

/** Returns whether the page was opened by a link with a token that nobody has taken yet. */
export const hasToken = (): boolean => token !== undefined

export async function boot(): Promise<void> {
  takeHash()
  addEventListener('hashchange', () => {
    if (!/^\/(setup|sign-in)$/.test(location.pathname) || location.hash.length < 2) return
    // The page that is loaded again takes the token.
    location.reload()
  })
  booted.value = { state: 'loading' }
  const keepSamePerson = hearOtherTabs()
  try {
    const signedIn = current()
    // At a wrong address its failure says nothing.
    signedIn.catch(() => {})
    const health = await owner.health()
    if (health.portal_origin !== location.origin) {
      booted.value = { state: 'wrong_origin', health }
      return
    }
    session.value = await signedIn
    keepSamePerson()
    booted.value = { state: 'ready' }
  } catch (error) {
    booted.value = { state: 'failed', error }
  }
}

function takeHash(): void {
  const { hash, pathname } = location
  if (!/^\/(setup|sign-in)$/.test(pathname) || hash.length < 2) return
  token = hash.slice(1)
  history.replaceState(null, '', pathname)
}

async function current() {
  try {
    return await readSession()
  } catch (error) {
    if (error instanceof BridgeError && error.status === 401) return undefined
    throw error
  }
}
