/** Starts the page. */
import { effect } from '@preact/signals'
import { render } from 'preact'
import { App } from './app.tsx'
import { boot } from './boot.ts'
import { startClock } from './clock.ts'
import { startAttendance } from './live/attendance.ts'
import { preferences, rereadPreferences } from './preferences.ts'

const root = document.getElementById('app')
if (root !== null) {
  addEventListener('storage', rereadPreferences)
  effect(() => {
    document.documentElement.dataset.theme = preferences.value.theme
  })
  startClock()
  startAttendance()
  render(<App />, root)
  void boot()
}

// A browser may keep the page for its back button, with the data of a session that has ended.
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return
  root?.replaceChildren()
  location.reload()
})
