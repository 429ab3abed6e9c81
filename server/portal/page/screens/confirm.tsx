/** Dialog over any screen: signs in again, or confirms the password. The refused request then goes by itself. */
import { type Asking, asking, confirm, isExpiry, session, signIn } from '../owner.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Password } from '../parts/password.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useSecret } from '../parts/secret.ts'
import { useSubmitting } from '../parts/submitting.ts'

export function Confirm({ isExpired, answer }: Asking) {
  const secret = useSecret()
  const name = session.value?.user.name ?? ''
  const { isBusy, error, submit } = useSubmitting(async () => {
    const password = secret.current
    try {
      if (isExpired) await signIn({ name, password })
      else await confirm(password)
    } catch (failure) {
      // The sign-in has ended behind the question, which is another one from now on.
      if (isExpiry(failure) && asking.peek()?.answer === answer) asking.value = { isExpired: true, answer }
      throw failure
    }
    answer(true)
  })
  const cancel = () => {
    if (!isBusy) answer(false)
  }
  return (
    <Dialog title={isExpired ? 'Sign in again' : 'Confirm with your password'} close={cancel}>
      <form onSubmit={submit}>
        <p>
          {isExpired
            ? 'The sign-in has ended. What you wrote is kept.'
            : 'This action needs your password again.'}
        </p>
        <p class="field">
          <span class="label">Name</span>
          <bdi>{name}</bdi>
        </p>
        <Password secret={secret} />
        <Refusal error={error} />
        <p class="actions">
          <button type="button" class="quiet" onClick={cancel}>
            Cancel
          </button>
          <button type="submit" disabled={isBusy}>
            {isExpired ? 'Sign in' : 'Confirm'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}
