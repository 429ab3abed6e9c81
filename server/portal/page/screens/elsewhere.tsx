/** Parts of the node that this page does not show yet. The command line has all of them. */
import { useLocation } from 'preact-iso/router'
import { Heading } from '../parts/heading.tsx'

const commands: readonly (readonly [RegExp, string, string])[] = [
  [/^\/people$/, 'People', 'bridge admin administrator list'],
  [/^\/node$/, 'Node', 'bridge admin telemetry'],
  [/audit$/, 'Audit', 'bridge admin audit'],
]

export function Elsewhere() {
  const { path } = useLocation()
  const [, title, command] = commands.find(([rule]) => rule.test(path)) ?? [undefined, undefined, undefined]
  if (command === undefined)
    return (
      <>
        <Heading title="Not found">There is no such page</Heading>
        <p>
          <a href="/">All projects</a>
        </p>
      </>
    )
  return (
    <>
      <Heading title={title}>{title}</Heading>
      <p>This part is on the command line:</p>
      <p>
        <code>{command}</code>
      </p>
    </>
  )
}
