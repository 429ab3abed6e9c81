/** Marks beside words: each has a shape of its own, so that colour alone tells nothing. */
import type { MarkName } from '../words/connection.ts'
import type { TaskMark } from '../words/tasks.ts'

type Shape = readonly [tone: string, path: string, isOutline?: boolean]

const ring = 'M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z'
const disc = 'M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10z'
/** A square without its inside. */
const frame = 'M1 1h10v10H1zM2.5 2.5h7v7h-7z'
/** A disc without the right half of its inside. */
const half = 'M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10zM6 2.5a3.5 3.5 0 0 1 0 7z'

const shapes: Readonly<Record<MarkName | TaskMark | 'stored' | 'offered' | 'acknowledged' | 'alert', Shape>> =
  {
    listening: ['good', disc],
    connected: ['info', half],
    step: [
      'soft',
      'M2 4.8a1.2 1.2 0 1 0 0 2.4a1.2 1.2 0 1 0 0-2.4zM6 4.8a1.2 1.2 0 1 0 0 2.4a1.2 1.2 0 1 0 0-2.4zM10 4.8a1.2 1.2 0 1 0 0 2.4a1.2 1.2 0 1 0 0-2.4z',
    ],
    overdue: ['warning', 'M6 1l5.5 10H.5z'],
    away: ['soft', ring, true],
    unavailable: ['soft dashed', ring, true],
    disabled: ['soft', `${ring}M3 9l6-6`, true],
    stored: ['soft', ring, true],
    offered: ['info', half],
    acknowledged: ['good', disc],
    open: ['soft', frame],
    held: ['info', 'M1 1h10v10H1zM6 2.5h3.5v7H6z'],
    stopping: ['warning', 'M1 1h10v10H1zM2.5 2.5H6v7H2.5z'],
    completed: ['good', 'M1 1h10v10H1zM2.4 6.4l1.1-1.1l1.6 1.6l3.4-3.6l1.1 1.1l-4.5 4.7z'],
    failed: [
      'bad',
      'M2.4 1.3L6 4.9l3.6-3.6l1.1 1.1L7.1 6l3.6 3.6l-1.1 1.1L6 7.1l-3.6 3.6l-1.1-1.1L4.9 6L1.3 2.4z',
    ],
    cancelled: ['soft', `${ring}M3 9l6-6`, true],
    alert: ['bad', 'M6 0l6 6l-6 6l-6-6z'],
  }

export function Mark({ name }: { readonly name: keyof typeof shapes }) {
  const [tone, path, isOutline = false] = shapes[name]
  return (
    <svg class={`mark ${tone}${isOutline ? ' outline' : ''}`} viewBox="0 0 12 12" aria-hidden="true">
      <path d={path} fill-rule="evenodd" />
    </svg>
  )
}
