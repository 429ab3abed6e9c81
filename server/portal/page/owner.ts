/** The owner's session in this browser, and the question for the password that a refusal asks. */
import { effect, signal } from '@preact/signals'
import { BridgeError, type OwnerSession, openOwner } from '../../../sdk/browser.ts'
import { hearClock } from './node-clock.ts'

/** Undefined while nobody is signed in. */
export const session = signal<OwnerSession | undefined>(undefined)

/** Grows with each sign-in and each confirmation of the person, in this tab or in another one. */
export const renewals = signal(0)

// The node notes the use of a sign-in at most once a minute.
effect(() => {
  if (session.value === undefined) return
  renewals.value = renewals.peek() + 1
  hearClock(session.value.last_used_at, 60_000)
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

/** Address and number of renewals where the person has declined to sign in again. */
let declined = ''

const here = (): string => `${renewals.peek()} ${location.pathname}`

/** After the person has declined to sign in again, the readings of the same screen ask no more. */
function reauthorize({ code }: BridgeError, { method }: { readonly method: string }): Promise<boolean> {
  const isExpired = code === 'owner_session_expired'
  const isSilent = isExpired ? method === 'GET' && declined === here() : asksItself > 0
  if (session.value === undefined || isSilent) return Promise.resolve(false)
  return ask(isExpired)
}

/** All requests that are refused at the same time share one question. */
function ask(isExpired: boolean): Promise<boolean> {
  const act = async () => {
    if (isExpired && (await isSignedIn())) return true
    const isAuthorized = await question(isExpired)
    if (!isAuthorized && isExpired) declined = here()
    return isAuthorized
  }
  pending ??= act().finally(() => {
    pending = undefined
  })
  return pending
}

/** Asks the person to sign in again. */
export const signInAgain = (): Promise<boolean> => ask(true)

const question = (isExpired: boolean): Promise<boolean> =>
  new Promise((resolve) => {
    const answer = (isAuthorized: boolean) => {
      // The question may have another answer by now, and there may be another question.
      if (asking.peek()?.answer === answer) asking.value = undefined
      resolve(isAuthorized)
    }
    asking.value = { isExpired, answer }
  })

/** Number of answers 503 so far: the node has no room, or it is not ready. */
export const busyAnswers = signal(0)

/** Number of answers so far. */
export const answers = signal(0)

const answered = ({ status }: { readonly status: number }): void => {
  answers.value += 1
  if (status === 503) busyAnswers.value += 1
}

export const owner = openOwner({ reauthorize, answered })

/** The same session. Its refusals ask nothing. */
const silent = openOwner({ answered })

/** Lock of all tabs: held while a sign-in or a confirmation changes the cookie. */
const cookieLock = 'bridge-cookie'

/** Waits until no sign-in or confirmation is under way in any tab. */
const settled = (): Promise<void> => navigator.locks.request(cookieLock, { mode: 'shared' }, () => {})

/** Reads who is signed in in this browser. @throws owner_session_expired */
export async function readSession(): Promise<OwnerSession> {
  await settled()
  return silent.signIn.current()
}

/**
 * Returns whether the person is still signed in. A request that crosses a confirmation, of this tab or another
 * one, is refused because it has the old cookie.
 */
async function isSignedIn(): Promise<boolean> {
  const before = renewals.peek()
  try {
    const found = await readSession()
    if (found.user.id !== session.peek()?.user.id) return false
    session.value = found
    return true
  } catch {
    // This reading may cross a sign-in too. If the node cannot be reached, the sign-in says so.
    await settled()
    return renewals.peek() !== before
  }
}

/** Signs in with a name and password, or with the token of a link. @throws sign_in_failed, rate_limited */
export async function signIn(input: Parameters<typeof owner.start>[0]): Promise<OwnerSession> {
  session.value = await navigator.locks.request(cookieLock, () => silent.start(input))
  return session.value
}

/** Confirms the password. @throws sign_in_failed, rate_limited, owner_session_expired */
export async function confirm(password: string): Promise<void> {
  session.value = await navigator.locks.request(cookieLock, () => silent.signIn.confirm(password))
}

/** As {@link confirm}. If the sign-in has ended, asks to sign in first. @throws sign_in_failed, rate_limited */
export async function confirmOrAsk(password: string): Promise<void> {
  try {
    await confirm(password)
  } catch (failure) {
    if (!isExpiry(failure) || !(await signInAgain())) throw failure
    await confirm(password)
  }
}

/** True if the node refused a request because the sign-in has ended. */
export const isExpiry = (failure: unknown): failure is BridgeError =>
  failure instanceof BridgeError && failure.code === 'owner_session_expired'

/** Carries the id of the person who signed in from tab to tab, or null at the end of the sign-in. */
export const signIns = new BroadcastChannel('bridge-sign-ins')

/** A sign-in that has ended needs no password to leave the page. */
export async function signOut(): Promise<void> {
  await settled()
  await silent.signIn.close().catch((failure: unknown) => {
    if (!isExpiry(failure)) throw failure
  })
  leave()
}

/** Leaves the page after the end of the sign-in. */
export function leave(): void {
  signIns.postMessage(null)
  // A new document: nothing of the session stays in memory.
  location.assign('/sign-in')
}
