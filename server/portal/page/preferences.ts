/** How this browser shows the page. It is all that the page stores in the browser. */
import { computed, signal } from '@preact/signals'

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  readonly times: 'relative' | 'exact'
  readonly zone: 'local' | 'utc'
  readonly shortcuts: 'on' | 'off'
  /** Whether the page goes on reading when nobody has touched it for an hour, as on a wall display. */
  readonly watching: 'pauses' | 'goes_on'
  readonly notifications: 'off' | 'on'
}

type Choices = { readonly [K in keyof Preferences]: readonly [Preferences[K], ...Preferences[K][]] }

/** The values of each preference. The first is the default. */
export const choices: Choices = {
  theme: ['system', 'light', 'dark'],
  times: ['relative', 'exact'],
  zone: ['local', 'utc'],
  shortcuts: ['on', 'off'],
  watching: ['pauses', 'goes_on'],
  notifications: ['off', 'on'],
}

const key = 'bridge-preferences'

/** Changes of this page. If the browser stores nothing, they last as long as the page. */
const stored = signal(read())

export const preferences = computed<Preferences>(() => {
  const of = <K extends keyof Preferences>(name: K): Preferences[K] => {
    const values = choices[name]
    return values.find((each) => each === stored.value[name]) ?? values[0]
  }
  return {
    theme: of('theme'),
    times: of('times'),
    zone: of('zone'),
    shortcuts: of('shortcuts'),
    watching: of('watching'),
    notifications: of('notifications'),
  }
})

export function prefer<K extends keyof Preferences>(name: K, value: Preferences[K]): void {
  stored.value = { ...stored.value, [name]: value }
  try {
    localStorage.setItem(key, JSON.stringify(preferences.value))
  } catch {
    // A browser may refuse to store.
  }
}

/** Reads the preferences again, after another tab has changed them. */
export function rereadPreferences(event: { readonly key: string | null }): void {
  if (event.key === key || event.key === null) stored.value = read()
}

/** Returns what is stored, which anybody at this browser may have written. */
function read(): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? '')
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
