/** Short notes at the bottom: what an action did, or why it failed. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { refusedBecause } from '../words/refusals.ts'

interface Toast {
  readonly words: ComponentChildren
  readonly undo?: (() => Promise<unknown>) | undefined
}

const toast = signal<Toast | undefined>(undefined)
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows a note for 10 seconds, with a button that takes the action back. */
export function note(words: ComponentChildren, undo?: () => Promise<unknown>): void {
  clearTimeout(timer)
  toast.value = { words, undo }
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

export function Toasts() {
  const { words, undo } = toast.value ?? {}
  return (
    <output class="toast" hidden={words === undefined}>
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
