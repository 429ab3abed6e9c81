/** Home folders with the settings of other tools, and their content for comparison. */
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { Desk } from '../../support/desk.ts'

/** How a text is written. The content is the same. */
interface Style {
  readonly indent: string | number | undefined
  readonly crlf: boolean
  readonly mark: boolean
  readonly endsLine: boolean
}

export interface HomeSpec {
  /** Undefined is no file, and 'empty' a file of 0 bytes. */
  readonly hooks: undefined | 'empty' | { readonly others: readonly string[]; readonly inline: boolean }
  readonly config: undefined | 'empty' | readonly string[]
  readonly style: Style
  readonly mode: number
  readonly linked: boolean
}

const configLines = [
  '# my settings\t(do not touch)',
  'model = "gpt-5"  # the good one',
  'notify = ["say", "it\'s done"]',
  'big = 9007199254740993\nnever = inf',
  '[mcp_servers.docs]\n\tcommand = "docs-mcp"\n\targs = [ "--stdio",\n\t\t"x" ] # list',
  '[hooks.state."/x/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:00"',
  '[projects."/home/ada/ä b"]\ntrust_level = "trusted"',
  'text = """\n[not.a.table]\n"""',
]

export const anyHome: fc.Arbitrary<HomeSpec> = fc.record({
  hooks: fc.oneof(
    fc.constantFrom(undefined, 'empty' as const),
    fc.record({
      others: fc.subarray(['Stop', 'SessionStart', 'PreToolUse', 'PostToolUse']),
      inline: fc.boolean(),
    }),
    fc.record({ others: fc.constant(['Stop', 'SessionStart']), inline: fc.boolean() }),
  ),
  // Keys come before tables.
  config: fc.oneof(
    fc.constantFrom(undefined, 'empty' as const),
    fc.subarray(configLines).map((lines) => keysFirst(lines)),
  ),
  style: fc.record({
    indent: fc.constantFrom<string | number | undefined>('\t', 2, 4, undefined),
    crlf: fc.boolean(),
    mark: fc.boolean(),
    endsLine: fc.boolean(),
  }),
  mode: fc.constantFrom(0o600, 0o644, 0o640),
  linked: fc.boolean(),
})

function keysFirst(lines: readonly string[]): string[] {
  return lines.toSorted((one, other) => Number(one.startsWith('[')) - Number(other.startsWith('[')))
}

const styled = (text: string, { crlf, mark, endsLine }: Style): string => {
  const ended = endsLine ? `${text}\n` : text
  return (mark ? '\ufeff' : '') + (crlf ? ended.replaceAll('\n', '\r\n') : ended)
}

function hooksText({ others, inline }: { others: readonly string[]; inline: boolean }, style: Style): string {
  const group = (event: string) => [
    { matcher: '*', hooks: [{ type: 'command', command: `beep "${event}" [1,2]`, timeout: 5 }] },
  ]
  const hooks = Object.fromEntries(others.map((event) => [event, group(event)]))
  const text = JSON.stringify({ description: 'mine é', hooks, last: 1.0e3 }, null, style.indent)
  return styled(inline ? text.replace('"description":', '"description" :') : text, style)
}

/** Makes a home with Codex's files. */
export async function makeHome(spec: HomeSpec): Promise<Desk> {
  const desk = await Desk.make()
  const { hooks, config, style, mode, linked } = spec
  const folder = join(desk.folder, '.codex')
  const place = linked ? join(desk.folder, 'dotfiles') : folder
  const texts = {
    'hooks.json': hooks === undefined || hooks === 'empty' ? hooks : hooksText(hooks, style),
    'config.toml': config === undefined || config === 'empty' ? config : styled(config.join('\n'), style),
  }
  for (const [name, text] of Object.entries(texts)) {
    if (text === undefined) continue
    await put(join(place, name), text === 'empty' ? '' : text, mode)
    if (!linked) continue
    await mkdir(folder, { recursive: true })
    await symlink(join('..', 'dotfiles', name), join(folder, name))
  }
  return desk
}

export async function put(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  await chmod(path, mode)
}

/** Every path below the folder with its mode and content, without the profiles of `bridge`. */
export async function treeOf(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const walk = async (path: string, name: string): Promise<void> => {
    const status = await lstat(path)
    const mode = (status.mode & 0o7777).toString(8)
    if (status.isSymbolicLink()) found[name] = `link ${await readlink(path)}`
    else if (status.isFile()) found[name] = `${mode} ${(await readFile(path)).toString('latin1')}`
    else {
      found[`${name}/`] = mode
      for (const inner of await readdir(path)) {
        if (name !== '' || inner !== 'bridge') await walk(join(path, inner), join(name, inner))
      }
    }
  }
  await walk(folder, '')
  return found
}
