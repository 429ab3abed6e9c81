/**
 * One browser has one sign-in. If somebody else signs in, or the person signs out, in another tab, this tab must
 * not show the data of before.
 */
import { effect } from '@preact/signals'
import { asking, session, signIns } from '../owner.ts'

/** Starts after the page knows who is signed in. */
export function keepSamePerson(): void {
  effect(() => {
    const id = session.value?.user.id
    if (id !== undefined) signIns.postMessage(id)
  })
  signIns.onmessage = ({ data }: MessageEvent<string | null>) => {
    if (data !== (session.peek()?.user.id ?? null)) location.reload()
    // The same person signed in again in the other tab.
    else if (asking.peek()?.isExpired) asking.peek()?.answer(true)
  }
}
