/**
 * Notifications of the browser while no tab is visible: the kinds and the number of what needs the owner.
 *
 * - They contain nothing that an agent wrote: no name, no text.
 * - A hidden page reads a snapshot once a minute for them. One tab does so for all.
 */
import { attentionLabels, type ProjectSnapshot } from '../../../sdk/browser.ts'
import { isAttended } from './live/attendance.ts'
import type { LiveProject } from './live/project.ts'
import { preferences } from './preferences.ts'

const everyMs = 60_000

const isOn = (): boolean =>
  preferences.value.notifications === 'on' &&
  'Notification' in globalThis &&
  Notification.permission === 'granted'

/** Asks the browser. Returns whether it will show notifications. */
export async function askForNotifications(): Promise<boolean> {
  return 'Notification' in globalThis && (await Notification.requestPermission()) === 'granted'
}

/** Watches a project while its tab is open. Returns what ends it. */
export function notifyOf(project: string, { snapshot, refresh }: LiveProject): () => void {
  let known: ReadonlySet<string> | undefined
  // The tab that holds the lock notifies for all tabs of the browser.
  const alone = (act: () => unknown) =>
    void navigator.locks.request(`bridge-notify-${project}`, { ifAvailable: true }, (lock) => lock && act())
  const unfollow = snapshot.subscribe((now) => {
    if (now === undefined) return
    const ids = new Set(now.attention.map(idOf))
    const fresh = known === undefined ? [] : now.attention.filter((item) => !known?.has(idOf(item)))
    known = ids
    if (fresh.length > 0 && document.visibilityState === 'hidden' && isOn()) alone(() => show(project, fresh))
  })
  const timer = setInterval(() => {
    if (!isAttended.value && isOn()) alone(refresh)
  }, everyMs)
  return () => {
    unfollow()
    clearInterval(timer)
  }
}

type Items = ProjectSnapshot['attention']

const idOf = ({ kind, subject, agent }: Items[number]): string => `${kind} ${subject.id} ${agent?.id}`

function show(project: string, fresh: Items): void {
  const kinds = [...new Set(fresh.map(({ kind }) => attentionLabels[kind]))]
  const title = fresh.length === 1 ? '1 item needs you' : `${fresh.length} items need you`
  const shown = new Notification(`bridge: ${title}`, { body: kinds.join(', '), tag: `bridge-${project}` })
  shown.onclick = () => {
    window.focus()
    shown.close()
  }
}
