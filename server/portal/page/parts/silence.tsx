/**
 * Says over the screen, which keeps its place, that the node does not answer. `bands.tsx` says that the page
 * is paused.
 */
import { useEffect } from 'preact/hooks'
import { BridgeError, isOutcomeUnknown } from '../../../../sdk/browser.ts'
import { isIdle } from '../live/attendance.ts'
import { type LiveProject, silentMs } from '../live/project.ts'
import { isExpiry, signInAgain } from '../owner.ts'
import { span, timeOfDay } from '../words/time.ts'
import { announce } from './announce.tsx'
import { Refusal } from './refusal.tsx'

export function Silence({ live: { ageMs, heardAt, error } }: { readonly live: LiveProject }) {
  const isSilent = useSilence(heardAt.value === undefined || isRefusal(error.value) ? undefined : ageMs.value)
  if (isExpiry(error.value))
    return (
      <p class="silence">
        The sign-in has ended.{' '}
        {heardAt.value !== undefined && `You see what the node said at ${timeOfDay(heardAt.value)}. `}
        <button type="button" class="quiet" onClick={() => void signInAgain()}>
          Sign in again
        </button>
      </p>
    )
  if (isRefusal(error.value)) return heardAt.value === undefined ? null : <Refusal error={error.value} />
  return (
    <p class="silence over" hidden={!isSilent}>
      {isSilent &&
        `Nothing heard from the node since ${timeOfDay(heardAt.value ?? 0)} (${span(ageMs.value)}). Trying again.`}
    </p>
  )
}

const isRefusal = (error: unknown): boolean => error instanceof BridgeError && !isOutcomeUnknown(error)

/**
 * Returns the failure that a screen with a `Silence` says beside it: that of its list, or of a project of which
 * nothing was heard. The same refusal is then not on the screen twice.
 */
export function failureBeside({ heardAt, error }: LiveProject, ofList: unknown): unknown {
  if (isExpiry(error.value)) return undefined
  if (heardAt.value === undefined) return ofList ?? error.value
  return isRefusal(error.value) ? undefined : ofList
}

let isAnnounced = false

/**
 * Returns whether the node is silent, by the age of its last answer. Announces the beginning and the end of a
 * silence. Its length changes each second, so it is not announced. A paused page does not ask the node.
 */
export function useSilence(ageMs: number | undefined): boolean {
  const isSilent = ageMs !== undefined && !isIdle.value && ageMs > silentMs
  const isAnswered = ageMs !== undefined && !isIdle.value && ageMs <= silentMs
  useEffect(() => {
    if (isAnnounced ? !isAnswered : !isSilent) return
    isAnnounced = isSilent
    announce('silence', isSilent ? 'Nothing heard from the node. Trying again.' : 'The node answers again.')
  }, [isSilent, isAnswered])
  return isSilent
}
