/**
 * Dialogs over a screen, and the acts that ask before they take effect. An act has one of three grades.
 *
 * - *stated*: the dialog says what the act does. Its button names the act, and the focus is on Cancel.
 * - *fresh*: the dialog also asks the password if the last confirmation is too old, or if the node says so.
 * - *named*: the dialog also asks for the exact name of what the act destroys.
 */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { BridgeError } from '../../../../sdk/browser.ts'
import { freshKey } from '../clock.ts'
import { nodeNow } from '../node-clock.ts'
import { confirmOrAsk, session, withoutAsking } from '../owner.ts'
import { isAtFields } from '../words/refusals.ts'
import { Field } from './field.tsx'
import { Password } from './password.tsx'
import { Refusal } from './refusal.tsx'
import { useSecret } from './secret.ts'
import { useSubmitting } from './submitting.ts'

interface DialogProps {
  readonly title: ComponentChildren
  /** Ends the dialog: Esc was pressed. */
  readonly close: () => void
  readonly children: ComponentChildren
}

/** A modal dialog. When it goes away, the focus returns to the control that opened it. */
export function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // A passive effect would end only after the next paint, and the focus would be nowhere until then.
  useLayoutEffect(() => {
    const opener = document.activeElement
    const shown = dialog.current
    if (shown !== null) show(shown)
    return () => {
      shown?.close()
      const left = opener instanceof HTMLElement && opener.isConnected ? opener : document.querySelector('h1')
      left?.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClose={({ currentTarget }) => {
        // A browser lets the page prevent one request to close. It obeys the next one, also while the act
        // runs.
        if (currentTarget.isConnected) show(currentTarget)
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/** Shows it over everything else, with the focus in its first field, or else on its first button. */
function show(dialog: HTMLDialogElement): void {
  dialog.showModal()
  const first = dialog.querySelector<HTMLElement>(
    'input:not([type=checkbox], [type=radio]), textarea, select',
  )
  ;(first ?? dialog.querySelector<HTMLElement>('button'))?.focus()
}

interface ActProps {
  /** The question, such as "Disable ada?". */
  readonly title: ComponentChildren
  /** Text of the button that acts, such as "Disable ada". */
  readonly verb: ComponentChildren
  readonly busy?: string
  /** Text of the button that leaves everything as it is. */
  readonly dismiss?: string
  /** True if the node wants a recent confirmation with the password. */
  readonly isFresh?: boolean
  /** Name that has to be typed exactly. */
  readonly name?: string
  /** Fields among the children that show their own faults. The dialog does not repeat those. */
  readonly fields?: readonly string[]
  /** One sentence of consequence, and the fields of the act. A function gets the refusal of the last try. */
  readonly children?: ComponentChildren | ((error: unknown) => ComponentChildren)
  /** Runs when the dialog is gone, however it ended. A field for a secret is emptied there. */
  readonly closed?: () => void
  /**
   * The key stays the same until the dialog closes, so a second try of a keyed request has no second effect. It
   * changes if the node says that an earlier try with other fields had its effect.
   */
  readonly act: (key: string) => Promise<unknown>
}

/** The dialog of an act. It closes after the act; a refusal is shown inside. */
export function ActDialog(props: ActProps & { readonly close: () => void }) {
  const {
    title,
    verb,
    busy,
    dismiss = 'Cancel',
    isFresh = false,
    name,
    fields = [],
    children,
    act,
    close,
  } = props
  const [isAsked, ask] = useState(isFresh && isConfirmationOld())
  const password = useSecret()
  const [typed, setTyped] = useState('')
  const [key, setKey] = useState(freshKey)
  const { isBusy, error, submit } = useSubmitting(async () => {
    if (isAsked) await confirmOrAsk(password.current)
    try {
      await (isFresh ? withoutAsking(() => act(key)) : act(key))
    } catch (failure) {
      if (failure instanceof BridgeError && failure.code === 'reauth_required' && !isAsked) return ask(true)
      // What an earlier try sent is stored. What is typed now is another request.
      if (failure instanceof BridgeError && failure.code === 'idempotency_conflict') setKey(freshKey())
      throw failure
    }
    close()
  })
  const isWrong = error instanceof BridgeError && error.code === 'sign_in_failed'
  const end = () => {
    if (!isBusy) close()
  }
  return (
    <Dialog title={title} close={end}>
      <form onSubmit={submit}>
        {typeof children === 'function' ? children(error) : children}
        {name !== undefined && (
          <Field label="Type its name to confirm" value={typed} change={setTyped} hint={name} required />
        )}
        {isAsked && (
          <>
            <p>This needs your password again.</p>
            <Password hasFocus secret={password} fault={isWrong ? 'The password is wrong.' : undefined} />
          </>
        )}
        {!isWrong && !isAtFields(error, fields) && <Refusal error={error} />}
        <p class="actions">
          <button type="button" class="quiet" onClick={end}>
            {dismiss}
          </button>
          <button type="submit" disabled={isBusy || (name !== undefined && typed !== name)}>
            {isBusy ? (busy ?? verb) : verb}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

interface ActButtonProps extends ActProps {
  /** Text of the button that opens the dialog, such as "Disable…". */
  readonly label: ComponentChildren
  /** Name of the button for a screen reader, if the text says too little outside of its row. */
  readonly about?: string
  readonly disabled?: boolean
}

/** A button that opens the dialog of its act. */
export function ActButton({ label, about, disabled = false, closed, ...act }: ActButtonProps) {
  const [isOpen, open] = useState(false)
  const close = () => {
    open(false)
    closed?.()
  }
  return (
    <>
      <button type="button" class="quiet" aria-label={about} disabled={disabled} onClick={() => open(true)}>
        {label}
      </button>
      {isOpen && <ActDialog {...act} close={close} />}
    </>
  )
}

const isConfirmationOld = (): boolean => Date.parse(session.value?.fresh_until ?? '') <= nodeNow.peek()
