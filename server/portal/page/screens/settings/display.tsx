/** How this browser shows the page. */
import { choices, type Preferences, prefer, preferences } from '../../preferences.ts'

type Shown = Omit<Preferences, 'notifications'>

type Labels = { readonly [K in keyof Shown]: Readonly<Record<Preferences[K], string>> }

const labels: Labels = {
  theme: { system: 'As the system', light: 'Light', dark: 'Dark' },
  times: { relative: 'How long ago', exact: 'Exact' },
  zone: { local: 'Time of this machine', utc: 'UTC' },
  shortcuts: { on: 'On', off: 'Off' },
  watching: { pauses: 'Pause after an hour without a touch', goes_on: 'Keep watching' },
}

export function Display() {
  return (
    <section aria-labelledby="display">
      <h2 id="display">This browser</h2>
      <p class="meta">The browser stores these choices, and nothing else of this page.</p>
      <div class="choices">
        <Choice name="theme" legend="Theme" />
        <Choice name="times" legend="Times" />
        <Choice name="zone" legend="Time zone" />
        <Choice name="shortcuts" legend="Keyboard shortcuts" hint="? opens their list." />
        <Choice
          name="watching"
          legend="Live data"
          hint="A page that goes on keeps its sign-in alive, up to the end of the sign-in: for a display on a wall."
        />
      </div>
    </section>
  )
}

interface Props<K extends keyof Shown> {
  readonly name: K
  readonly legend: string
  readonly hint?: string
}

function Choice<K extends keyof Shown>({ name, legend, hint }: Props<K>) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {choices[name].map((value) => (
        <label key={value} class="choice">
          <input
            type="radio"
            name={name}
            value={value}
            checked={preferences.value[name] === value}
            onChange={() => prefer(name, value)}
          />
          {labels[name][value]}
        </label>
      ))}
      {hint && <p class="meta">{hint}</p>}
    </fieldset>
  )
}
