/** Times in words: short and relative where recency matters, exact in a title. */

const steps: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** Returns a length of time with its largest unit: `40 s`, `6 min`, `2 h`, `3 d`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [size, unit] = steps.find(([each]) => seconds >= each) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

/** Returns `now` below three seconds, else `20 s ago`. */
export const ago = (ms: number): string => (ms < 3000 ? 'now' : `${span(ms)} ago`)

const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const clockFormat = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

/** Returns date and time in the zone of the reader. */
export const exact = (iso: string): string => exactFormat.format(new Date(iso))

/** Returns the time of day in the zone of the reader. */
export const timeOfDay = (wallMs: number): string => clockFormat.format(new Date(wallMs))
