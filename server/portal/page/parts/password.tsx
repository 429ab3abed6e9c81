/** Field for a password with a button that shows it. */
import { useState } from 'preact/hooks'
import { Field } from './field.tsx'

interface Props {
  readonly label?: string
  readonly value: string
  readonly change: (value: string) => void
  readonly isNew?: boolean | undefined
  readonly hasFocus?: boolean
  readonly fault?: string | undefined
}

export function Password({
  label = 'Password',
  value,
  change,
  isNew = false,
  hasFocus = false,
  fault,
}: Props) {
  const [isShown, show] = useState(false)
  return (
    <div class="password">
      <Field
        label={label}
        type={isShown ? 'text' : 'password'}
        autocomplete={isNew ? 'new-password' : 'current-password'}
        required
        minLength={isNew ? 12 : 1}
        maxLength={isNew ? 128 : 512}
        hint={isNew ? '12 characters or more' : undefined}
        {...{ value, change, fault, hasFocus }}
      />
      <button type="button" class="quiet" aria-pressed={isShown} onClick={() => show(!isShown)}>
        {isShown ? 'Hide' : 'Show'}
      </button>
    </div>
  )
}
