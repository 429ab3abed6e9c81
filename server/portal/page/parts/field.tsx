/** A labelled field with its hint and its fault. */
import { useEffect, useId, useRef } from 'preact/hooks'

interface Props {
  readonly label: string
  readonly type?: 'text' | 'password'
  readonly autocomplete?: string
  readonly required?: boolean
  /** Takes the focus when it appears, after the heading of its screen. */
  readonly hasFocus?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly value: string
  readonly hint?: string | undefined
  readonly fault?: string | undefined
  readonly change: (value: string) => void
}

export function Field({ label, hint, fault, change, type = 'text', hasFocus = false, ...input }: Props) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (hasFocus) field.current?.select()
  }, [])
  const all = {
    ...input,
    ref: field,
    id,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': fault !== undefined,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => change(currentTarget.value),
  }
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {type === 'password' ? <input {...all} type="password" /> : <input {...all} type="text" />}
      <span id={`${id}-hint`} class={fault === undefined ? 'meta' : 'fault'}>
        {fault ?? hint}
      </span>
    </p>
  )
}
