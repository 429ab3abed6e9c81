/** Short notes at the bottom: what an action did, or why it failed. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refusedBecause } from '../words/refusals.ts'

interface Toast {
  readonly words: ComponentChildren
  /** Path of the screen that it belongs to. */
  readonly path: string
  readonly undo?: (() => Promise<unknown>) | undefined
}

const toast = signal<Toast | undefined>(undefined)
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows a note for 10 seconds. A note without a button that takes the action back ends with its screen. */
export function note(words: ComponentChildren, undo?: () => Promise<unknown>): void {
  clearTimeout(timer)
  toast.value = { words, undo, path: location.pathname }
  timer = setTimeout(() => {
    toast.value = undefined
  }, 10_000)
}

/** Runs an action. A failure becomes a note. */
export async function act(action: () => Promise<unknown>): Promise<void> {
  try {
    await action()
  } catch (error) {
    note(refusedBecause(error).words)
  }
}

const controls = 'a, button, input, select, textarea, summary'

export function Toasts() {
  const { path } = useLocation()
  const shown = toast.value
  const { words, undo } = shown ?? {}
  useEffect(() => {
    if (shown === undefined) return
    if (shown.undo === undefined && shown.path !== location.pathname) toast.value = undefined
    // The note must not cover the control that has the focus.
    else if (document.activeElement?.matches(controls))
      document.activeElement.scrollIntoView({ block: 'nearest' })
  }, [path, shown])
  return (
    // A screen reader hears changes of a region that was there before.
    <output class={words === undefined ? 'unseen' : 'toast'}>
      <span>{words}</span>
      {undo !== undefined && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            toast.value = undefined
            void act(undo)
          }}
        >
          Undo
        </button>
      )}
    </output>
  )
}
