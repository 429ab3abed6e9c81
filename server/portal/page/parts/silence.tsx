/** Says why the data is old: the node does not answer, or nobody has touched the page for an hour. */
import { isIdle } from '../live/attendance.ts'
import { type LiveProject, silentMs } from '../live/project.ts'
import { span, timeOfDay } from '../words/time.ts'

export function Silence({ live: { ageMs, heardAt } }: { readonly live: LiveProject }) {
  const isSilent = ageMs.value > silentMs && heardAt.value !== undefined
  return (
    <p class="silence" role="status" hidden={!isSilent}>
      {isSilent &&
        (isIdle.value
          ? 'Paused: nobody has touched this page for an hour. Move the pointer or press a key to go on.'
          : `Nothing heard from the node since ${timeOfDay(heardAt.value ?? 0)} (${span(ageMs.value)}). Trying again.`)}
    </p>
  )
}
