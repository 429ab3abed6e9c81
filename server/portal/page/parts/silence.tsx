/** Says over the screen, which keeps its place, that the node does not answer. `bands.tsx` says that the page is paused. */
import { isIdle } from '../live/attendance.ts'
import { type LiveProject, silentMs } from '../live/project.ts'
import { span, timeOfDay } from '../words/time.ts'

export function Silence({ live: { ageMs, heardAt } }: { readonly live: LiveProject }) {
  const isSilent = ageMs.value > silentMs && heardAt.value !== undefined && !isIdle.value
  return (
    <p class="silence over" hidden={!isSilent}>
      {isSilent &&
        `Nothing heard from the node since ${timeOfDay(heardAt.value ?? 0)} (${span(ageMs.value)}). Trying again.`}
    </p>
  )
}
