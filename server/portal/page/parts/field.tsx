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
  /** True if it takes digits only. The browser refuses to send others. */
  readonly isNumber?: boolean
  /** Without it the browser alone keeps what is typed. */
  readonly value?: string
  readonly hint?: string | undefined
  readonly fault?: string | undefined
  readonly change: (value: string) => void
}

export function Field({
  label,
  hint,
  fault,
  change,
  type = 'text',
  hasFocus = false,
  isNumber = false,
  ...input
}: Props) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (hasFocus) field.current?.select()
  }, [])
  const all = {
    ...input,
    ...(isNumber && { inputMode: 'numeric' as const, pattern: '[0-9]*', title: 'A whole number' }),
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
