/** Field for a password with a button that shows it. The password is forgotten when the field goes away. */
import { useLayoutEffect, useState } from 'preact/hooks'
import { Field } from './field.tsx'
import type { Secret } from './secret.ts'

interface Props {
  readonly label?: string
  readonly secret: Secret
  readonly isNew?: boolean | undefined
  readonly hasFocus?: boolean
  readonly fault?: string | undefined
}

export function Password({ label = 'Password', secret, isNew = false, hasFocus = false, fault }: Props) {
  const [isShown, show] = useState(false)
  useLayoutEffect(
    () => () => {
      secret.current = ''
    },
    [],
  )
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
        change={(typed) => {
          secret.current = typed
        }}
        {...{ fault, hasFocus }}
      />
      <button type="button" class="quiet" aria-pressed={isShown} onClick={() => show(!isShown)}>
        {isShown ? 'Hide' : 'Show'}
      </button>
    </div>
  )
}
