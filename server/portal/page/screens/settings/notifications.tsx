/** Whether the browser notifies of what needs the owner. Only this part of the page asks the browser. */
import { useState } from 'preact/hooks'
import { askForNotifications } from '../../notifications.ts'
import { prefer, preferences } from '../../preferences.ts'

export function Notifications() {
  const [isRefused, setRefused] = useState(false)
  const isOn = preferences.value.notifications === 'on'
  const turnOn = async () => {
    const isGranted = await askForNotifications()
    setRefused(!isGranted)
    if (isGranted) prefer('notifications', 'on')
  }
  return (
    <section aria-labelledby="notifications">
      <h2 id="notifications">Notifications</h2>
      <p class="meta">
        When no tab of this page is visible, the browser tells how many items need you, and of which kind. It
        shows no name and no text of an agent. A hidden page then reads once a minute, which keeps its sign-in
        alive.
      </p>
      {isRefused && (
        <p class="fault">The browser refuses notifications of this page. Allow them in its settings.</p>
      )}
      <p class="actions">
        {isOn ? (
          <button type="button" class="quiet" onClick={() => prefer('notifications', 'off')}>
            Turn notifications off
          </button>
        ) : (
          <button type="button" class="quiet" onClick={() => void turnOn()}>
            Turn notifications on
          </button>
        )}
      </p>
    </section>
  )
}
