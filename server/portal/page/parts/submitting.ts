/** Runs the action of a form: one at a time, with its failure. */
import { useRef, useState } from 'preact/hooks'

export interface Submitting {
  readonly isBusy: boolean
  readonly error: unknown
  readonly submit: (event: Event) => void
}

export function useSubmitting(action: () => Promise<unknown>): Submitting {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  // A second press may come before the state is drawn.
  const isRunning = useRef(false)
  const run = async () => {
    isRunning.current = true
    setBusy(true)
    setError(undefined)
    try {
      await action()
    } catch (failure) {
      setError(failure)
    } finally {
      isRunning.current = false
      setBusy(false)
    }
  }
  return {
    isBusy,
    error,
    submit: (event) => {
      event.preventDefault()
      if (!isRunning.current) void run()
    },
  }
}
