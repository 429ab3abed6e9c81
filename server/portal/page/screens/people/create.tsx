/** Button that creates an administrator. The link for the first sign-in is shown once. */
import { useState } from 'preact/hooks'
import type { AdministratorLink } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { ActDialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { faultsOf } from '../../words/refusals.ts'

export function Create({ issued }: { readonly issued: (link: AdministratorLink) => Promise<void> }) {
  const [isOpen, open] = useState(false)
  const [name, setName] = useState('')
  const close = () => {
    open(false)
    setName('')
  }
  return (
    <>
      <button type="button" onClick={() => open(true)}>
        New administrator
      </button>
      {isOpen && (
        <ActDialog
          title="New administrator"
          verb="Make the administrator"
          busy="Making…"
          isFresh
          fields={['name']}
          close={close}
          act={async () => issued(await owner.administrators.create({ name: name.trim() }))}
        >
          {(error) => (
            <>
              <p>You get a link for the first sign-in. Give it to the person on a way that you trust.</p>
              <Field
                label="Name"
                required
                maxLength={80}
                value={name}
                change={setName}
                fault={faultsOf(error).name}
              />
            </>
          )}
        </ActDialog>
      )}
    </>
  )
}
