/** The list of shortcuts, which `?` opens. */
import { isHelpOpen, sectionKeys } from '../keyboard.ts'
import { Dialog } from './dialog.tsx'

export function Shortcuts() {
  if (!isHelpOpen.value) return null
  const close = () => {
    isHelpOpen.value = false
  }
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <dl class="keys">
        {sectionKeys.map(([key, , name]) => (
          <div key={key}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{name}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>j</kbd> <kbd>k</kbd>
          </dt>
          <dd>Next and previous row or message</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>This list</dd>
        </div>
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>Filter of the screen</dd>
        </div>
        <div>
          <dt>
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </dt>
          <dd>Send the message</dd>
        </div>
      </dl>
      <p class="meta">Shortcuts of single keys can be turned off in the settings.</p>
      <p class="actions">
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
    </Dialog>
  )
}
