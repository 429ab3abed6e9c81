/** Times in words: short and relative where recency matters, exact in a title. */
import { computed } from '@preact/signals'
import { preferences } from '../preferences.ts'

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

type Zone = 'local' | 'utc'

const formatsOf = (zone: Zone) => {
  const timeZone = zone === 'utc' ? { timeZone: 'UTC' } : {}
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', ...timeZone })
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', ...timeZone })
  return { exact, clock, suffix: zone === 'utc' ? ' UTC' : '' }
}

const formats = { local: formatsOf('local'), utc: formatsOf('utc') }
const zone = computed(() => preferences.value.zone)

const exactIn = (each: Zone, iso: string): string =>
  `${formats[each].exact.format(new Date(iso))}${formats[each].suffix}`

/** Returns date and time in the zone that the reader prefers. */
export const exact = (iso: string): string => exactIn(zone.value, iso)

/** Returns date and time in UTC, or in the zone of the reader if UTC is what the reader prefers. */
export const otherwise = (iso: string): string => exactIn(zone.value === 'utc' ? 'local' : 'utc', iso)

/** Returns the time of day in the zone that the reader prefers. */
export const timeOfDay = (wallMs: number): string =>
  `${formats[zone.value].clock.format(new Date(wallMs))}${formats[zone.value].suffix}`

/** Returns `20 s ago` or `in 20 s`, or the exact time if the reader prefers it. */
export function when(iso: string, nowMs: number): string {
  if (preferences.value.times === 'exact') return exact(iso)
  const ms = Date.parse(iso) - nowMs
  return ms < 1000 ? ago(-ms) : `in ${span(ms)}`
}
