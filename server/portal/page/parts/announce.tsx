/** One polite region for screen readers: live changes in words, at most one sentence in 5 seconds. */
import { signal } from '@preact/signals'

const pauseMs = 5000

const said = signal('')
/** Sentences that wait, by their subject. A newer one about the same subject takes the place of the older. */
const waiting = new Map<string, string>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Says a sentence in our words and counts only, as soon as the last one is 5 seconds old. */
export function announce(subject: string, sentence: string): void {
  waiting.delete(subject)
  waiting.set(subject, sentence)
  if (timer === undefined) next()
}

function next(): void {
  timer = undefined
  const [first] = waiting
  if (first === undefined) return
  const [subject, sentence] = first
  waiting.delete(subject)
  // The same sentence again is a change only if the text differs.
  said.value = said.value === sentence ? `${sentence}\u00a0` : sentence
  timer = setTimeout(next, pauseMs)
}

export function Announcements() {
  return (
    <p class="unseen" role="status" aria-live="polite">
      {said.value}
    </p>
  )
}
