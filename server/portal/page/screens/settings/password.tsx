/** Changes the password of the person who is signed in, which ends every sign-in. */
import { leave, owner } from '../../owner.ts'
import { ActButton } from '../../parts/dialog.tsx'
import { Password } from '../../parts/password.tsx'
import { useSecret } from '../../parts/secret.ts'

export function ChangePassword() {
  const password = useSecret()
  return (
    <ActButton
      label="Change password…"
      title="Change your password"
      verb="Change the password"
      busy="Changing…"
      isFresh
      act={async () => {
        await owner.signIn.changePassword(password.current)
        leave()
      }}
    >
      <p>Every sign-in of yours ends, this one too. You then sign in with the new password.</p>
      <Password label="New password" isNew secret={password} />
    </ActButton>
  )
}
