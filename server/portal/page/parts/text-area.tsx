/** A labelled field for several lines, with its size in bytes where the node limits it. */
import { useId } from 'preact/hooks'
import { plural } from '../words/plural.ts'

interface Props {
  readonly label: string
  readonly value: string
  readonly change: (value: string) => void
  readonly maxBytes: number
  readonly rows?: number
  readonly hint?: string
  readonly fault?: string | undefined
}

export function TextArea({ label, value, change, maxBytes, rows = 3, hint, fault }: Props) {
  const id = useId()
  const bytes = bytesOf(value)
  const isTooLong = bytes > maxBytes
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        aria-describedby={`${id}-hint`}
        aria-invalid={isTooLong || fault !== undefined}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <span id={`${id}-hint`} class={isTooLong || fault !== undefined ? 'fault' : 'meta'}>
        {fault ?? [hint, sizeWords(bytes, maxBytes)].filter((each) => each !== undefined).join(' · ')}
      </span>
    </p>
  )
}

/** Size of a text as the node counts it. */
export const bytesOf = (text: string): number => new TextEncoder().encode(text).length

const sizeWords = (bytes: number, maxBytes: number): string =>
  bytes > maxBytes
    ? `${bytes - maxBytes} bytes too long`
    : bytes < 1024
      ? `${plural(bytes, 'byte')} of ${maxBytes / 1024} KiB`
      : `${(bytes / 1024).toFixed(1)} of ${maxBytes / 1024} KiB`
