/** Tree that the browser gives to a screen reader, by the DevTools protocol, and the faults in it. */
import type { Page } from 'playwright-core'

interface Value {
  readonly value?: unknown
}

interface Node {
  readonly ignored: boolean
  readonly role?: Value
  readonly name?: Value
  readonly properties?: readonly { readonly name: string; readonly value: Value }[]
}

/** Roles on which a reader acts, which tell a number, or to which a reader jumps by their name. */
const named = new Set(
  `button link textbox searchbox combobox checkbox radio switch slider spinbutton listbox menuitem tab meter progressbar
  DisclosureTriangle Date DateTime InputTime image dialog alertdialog region navigation feed radiogroup heading`.split(
    /\s+/,
  ),
)

/** State that a control of this role must tell. */
const states: Readonly<Record<string, string>> = {
  checkbox: 'checked',
  radio: 'checked',
  switch: 'checked',
  DisclosureTriangle: 'expanded',
  dialog: 'modal',
}

/** Returns a line for each fault of the tree. */
export async function treeFaults(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  const all = (await session.send('Accessibility.getFullAXTree')).nodes as readonly Node[]
  await session.detach()
  const nodes = all.filter(({ ignored }) => !ignored).map(read)
  const of = (role: string) => nodes.filter((each) => each.role === role)
  const nameless = nodes.filter(({ role, name }) => named.has(role) && name === '')
  const stateless = nodes.filter(({ role, has }) => states[role] !== undefined && !has.has(states[role]))
  const missing = ['banner', 'main'].filter((role) => of(role).length !== 1)
  // A narrow page folds the sections behind its menu.
  const isFolded = of('button').some(({ name, has }) => name === 'Menu' && has.get('expanded') === false)
  const sections = of('navigation').filter(({ name }) => name === 'Sections').length
  return [
    ...nameless.map(({ role }) => `${role} without a name`),
    ...stateless.map(({ role, name }) => `${role} "${name}" without its state`),
    ...missing.map((role) => `${of(role).length} landmarks of the role ${role}`),
    ...(sections === (isFolded ? 0 : 1) ? [] : [`${sections} landmarks with the sections`]),
    ...headingFaults(of('heading')),
    ...sameNames(of('region')),
    ...sameNames(of('navigation')),
  ]
}

interface Read {
  readonly role: string
  readonly name: string
  readonly has: ReadonlyMap<string, unknown>
}

const read = ({ role, name, properties = [] }: Node): Read => ({
  role: String(role?.value ?? ''),
  name: String(name?.value ?? '').trim(),
  has: new Map(properties.map((each) => [each.name, each.value.value])),
})

function headingFaults(headings: readonly Read[]): string[] {
  const levels = headings.map(({ has }) => Number(has.get('level')))
  const tops = levels.filter((level) => level === 1).length
  const jumps = headings.filter((_, index) => (levels[index] ?? 0) > (levels[index - 1] ?? 0) + 1)
  return [
    ...(tops === 1 ? [] : [`${tops} headings of the first level`]),
    ...jumps.map(({ name }) => `heading "${name}" skips a level`),
  ]
}

const sameNames = (all: readonly Read[]): string[] =>
  all
    .filter(({ name }, index) => all.findIndex((each) => each.name === name) !== index)
    .map(({ role, name }) => `two of the role ${role} have the name "${name}"`)
