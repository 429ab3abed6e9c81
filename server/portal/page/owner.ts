/** The owner's session in this browser, and the question for the password that a refusal asks. */
import { effect, signal } from '@preact/signals'
import { type BridgeError, type OwnerSession, openOwner } from '../../../sdk/browser.ts'
import { hearClock } from './node-clock.ts'

/** Undefined while nobody is signed in. */
export const session = signal<OwnerSession | undefined>(undefined)

// The node notes the use of a sign-in at most once a minute.
effect(() => {
  if (session.value !== undefined) hearClock(session.value.last_used_at, 60_000)
})

/** Open question: sign in again, or confirm the password. */
export interface Asking {
  readonly isExpired: boolean
  /** Ends the question. If true, the refused request goes again. */
  readonly answer: (isAuthorized: boolean) => void
}

export const asking = signal<Asking | undefined>(undefined)

let pending: Promise<boolean> | undefined

/** Number of dialogs that ask for the password themselves. */
let asksItself = 0

/** Runs an act whose own dialog asks for the password, so `reauth_required` reaches it. */
export async function withoutAsking<T>(act: () => Promise<T>): Promise<T> {
  asksItself += 1
  try {
    return await act()
  } finally {
    asksItself -= 1
  }
}

/** All requests that are refused at the same time share one question. */
function reauthorize({ code }: BridgeError): Promise<boolean> {
  if (session.value === undefined || (code === 'reauth_required' && asksItself > 0))
    return Promise.resolve(false)
  pending ??= new Promise<boolean>((resolve) => {
    const answer = (isAuthorized: boolean) => {
      asking.value = undefined
      pending = undefined
      resolve(isAuthorized)
    }
    asking.value = { isExpired: code === 'owner_session_expired', answer }
  })
  return pending
}

/** Number of answers 503 so far: the node has no room, or it is not ready. */
export const busyAnswers = signal(0)

/** Number of answers so far. */
export const answers = signal(0)

export const owner = openOwner({
  reauthorize,
  answered: ({ status }) => {
    answers.value += 1
    if (status === 503) busyAnswers.value += 1
  },
})

/** Carries the id of the person who signed in from tab to tab, or null at the end of the sign-in. */
export const signIns = new BroadcastChannel('bridge-sign-ins')

export async function signOut(): Promise<void> {
  await owner.signIn.close()
  leave()
}

/** Leaves the page after the end of the sign-in. */
export function leave(): void {
  signIns.postMessage(null)
  // A new document: nothing of the session stays in memory.
  location.assign('/sign-in')
}
