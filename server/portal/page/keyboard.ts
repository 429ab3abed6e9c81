/**
 * Shortcuts of single keys. They are off in fields, in dialogs, and if the person prefers so (WCAG 2.1.4).
 *
 * - `/` goes to the filter of the screen, `?` opens the list of shortcuts.
 * - `g` and a letter open a section of the project. `j` and `k` go through the rows.
 */
import { signal } from '@preact/signals'
import { moment } from './clock.ts'
import { preferences } from './preferences.ts'

export const isHelpOpen = signal(false)

/** Time for the second key after `g`, in milliseconds. */
const pairMs = 1500

export const sectionKeys = [
  ['o', '', 'Overview'],
  ['a', '/agents', 'Agents'],
  ['c', '/conversations', 'Conversations'],
  ['t', '/tasks', 'Tasks'],
  ['f', '/transfers', 'Transfers'],
] as const

const filters = '[data-filter], [type=search], .filters input, .filters select, .work-filters select'
const rows = '[data-row], tbody tr, .rows > li, .board li'

/** Begins to listen. Returns what ends it. */
export function listenForKeys(route: (path: string) => void): () => void {
  let pairedAt = Number.NEGATIVE_INFINITY
  const press = (event: KeyboardEvent) => {
    if (!isMeant(event)) return
    const isPair = moment().monotonicMs - pairedAt < pairMs
    pairedAt = Number.NEGATIVE_INFINITY
    const section = isPair ? sectionKeys.find(([key]) => key === event.key) : undefined
    const project = /^\/projects\/[^/]+/.exec(location.pathname)?.[0]
    if (section !== undefined && project !== undefined) route(`${project}${section[1]}`)
    else if (event.key === 'g') pairedAt = moment().monotonicMs
    else if (event.key === '?') isHelpOpen.value = true
    else if (event.key === '/') find(filters)[0]?.focus()
    else if (event.key === 'j' || event.key === 'k') step(event.key === 'j' ? 1 : -1)
    else return
    event.preventDefault()
  }
  addEventListener('keydown', press)
  return () => removeEventListener('keydown', press)
}

function isMeant({ target, defaultPrevented, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (defaultPrevented || ctrlKey || metaKey || altKey) return false
  if (preferences.value.shortcuts === 'off' || document.querySelector('dialog[open]') !== null) return false
  return !(target instanceof Element && target.closest('input, textarea, select, [contenteditable]'))
}

const find = (selector: string): HTMLElement[] =>
  [...(document.querySelector('main')?.querySelectorAll<HTMLElement>(selector) ?? [])].filter(
    (each) => each.offsetParent !== null,
  )

/** Moves the focus to the next or the last row. Without a row in focus, to the first one in view. */
function step(by: 1 | -1): void {
  const all = find(rows)
  const at = all.findIndex((row) => row.contains(document.activeElement))
  const next = at === -1 ? all.find((row) => row.getBoundingClientRect().bottom > 60) : all[at + by]
  const target = next?.hasAttribute('tabindex') ? next : next?.querySelector<HTMLElement>('a, button')
  target?.focus()
}
