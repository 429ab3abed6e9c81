/**
 * One browser has one sign-in. If somebody else signs in, or the person signs out, in another tab, this tab must
 * not show the data of before.
 */
import { effect } from '@preact/signals'
import { asking, renewals, session, signIns } from '../owner.ts'

/**
 * Begins to listen to the other tabs. The returned function is called as soon as the page knows who is signed in. It
 * also judges what the other tabs told until then.
 */
export function hearOtherTabs(): () => void {
  let told: string | null | undefined
  signIns.onmessage = ({ data }: MessageEvent<string | null>) => {
    told = data
  }
  return () => {
    effect(() => {
      const id = session.value?.user.id
      if (id !== undefined) signIns.postMessage(id)
    })
    signIns.onmessage = ({ data }: MessageEvent<string | null>) => hear(data)
    if (told !== undefined) hear(told)
  }
}

function hear(id: string | null): void {
  if (id !== (session.peek()?.user.id ?? null)) location.reload()
  else {
    // The same person signed in again in the other tab.
    renewals.value += 1
    if (asking.peek()?.isExpired) asking.peek()?.answer(true)
  }
}
