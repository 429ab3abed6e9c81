/** A labelled choice of one of several values. */
import { useId } from 'preact/hooks'

interface Props<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly (readonly [value: T, words: string])[]
  readonly change: (value: T) => void
  readonly hint?: string | undefined
}

export function Choice<T extends string>({ label, value, options, change, hint }: Props<T>) {
  const id = useId()
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={({ currentTarget }) => {
          const chosen = options.find(([each]) => each === currentTarget.value)
          if (chosen !== undefined) change(chosen[0])
        }}
      >
        {options.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <span id={`${id}-hint`} class="meta">
          {hint}
        </span>
      )}
    </p>
  )
}
