/** Runs the action of a form: one at a time, with its failure. */
import { useState } from 'preact/hooks'

export interface Submitting {
  readonly isBusy: boolean
  readonly error: unknown
  readonly submit: (event: Event) => void
}

export function useSubmitting(action: () => Promise<unknown>): Submitting {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const run = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await action()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return {
    isBusy,
    error,
    submit: (event) => {
      event.preventDefault()
      if (!isBusy) void run()
    },
  }
}
