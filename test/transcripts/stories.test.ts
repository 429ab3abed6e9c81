/** The stories of this folder, played on a real node by the program in this process. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { ownerName, ownerPassword } from '../support/owner.ts'
import { enrolled } from '../support/profiles.ts'
import { fill, isShown, type Output, readStory, type Step, type Values, wordsOf } from './story.ts'

const folder = join(import.meta.dirname, 'stories')
const files = (await readdir(folder)).sort()

let bridge: TestBridge
/** The sign-in of the owner: hashing the password takes half a second. */
let signIn: string
beforeAll(async () => {
  bridge = await startBridge()
  const desk = await Desk.make()
  const login = ['admin', 'login', '--url', bridge.url, '--name', ownerName, '--password-stdin']
  await desk.run(login, { stdin: `${ownerPassword}\n` })
  signIn = await readFile(desk.path('default', 'owner.json'), 'utf8')
  await desk.remove()
})
afterAll(() => bridge.close())

/** Each story has a project with the agents cleo and dan, their profiles, the owner's sign-in, and an empty folder. */
async function play(name: string, steps: readonly Step[]): Promise<void> {
  const desk = await Desk.make()
  try {
    const project = await bridge.owner.createProject(name)
    await Promise.all(['cleo', 'dan'].map((each) => enrolled({ ...bridge, project }, desk, each)))
    await mkdir(desk.path('default'))
    await writeFile(desk.path('default', 'owner.json'), signIn)
    const here = join(desk.folder, 'files')
    await mkdir(here)
    const values: Values = new Map([
      ['folder', here],
      ['project', project.id],
    ])
    for (const step of steps) {
      const command = fill(step.command, values)
      const words = wordsOf(command)
      const output =
        words[0] === 'bridge'
          ? await desk.run(words.slice(1), { stdin: fill(step.stdin, values), clock: bridge.clock })
          : await inShell(command, here)
      if (!isShown(step, output, values))
        expect(`$ ${command}\n${written(output)}`).toBe(`$ ${command}\n${written(shown(step))}`)
    }
  } finally {
    await desk.remove()
  }
}

const inShell = (command: string, cwd: string): Promise<Output> =>
  new Promise((resolve) => {
    execFile('sh', ['-c', command], { cwd }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, code: Number(error?.code ?? 0) }),
    )
  })

/** An output as a story writes it, to be compared by eye. */
const written = ({ stdout, stderr, code }: Output): string =>
  [
    stdout.trimEnd(),
    ...stderr
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => `! ${line}`),
    ...(code === 0 ? [] : [`[exit ${code}]`]),
  ]
    .filter((line) => line !== '')
    .join('\n')

const shown = ({ stdout, stderr, exit }: Step): Output => ({
  stdout: stdout.join('\n'),
  stderr: stderr.join('\n'),
  code: exit,
})

test.each(files)('%s', async (file) => {
  const { says, steps } = readStory(await readFile(join(folder, file), 'utf8'))
  expect(says).not.toBe('')
  expect(steps.length).toBeGreaterThan(1)
  await play(file.replace('.txt', ''), steps)
})

test('a step with another output, stream, exit code or value does not match', () => {
  const [step] = readStory('A story.\n\n$ bridge send\nstored {id} as {id}…\n! one\n[exit 3]\n').steps
  const shows = (more: Partial<Output>, values: Values = new Map()) =>
    step !== undefined &&
    isShown(step, { stdout: 'stored 4f as 4f, now\n', stderr: 'one\n', code: 3, ...more }, values)
  expect(shows({})).toBe(true)
  expect(shows({}, new Map([['id', '4f']]))).toBe(true)
  expect(shows({}, new Map([['id', '5a']]))).toBe(false)
  expect(shows({ code: 0 })).toBe(false)
  expect(shows({ stderr: '' })).toBe(false)
  expect(shows({ stdout: 'stored 4f as 5a, now\n' })).toBe(false)
  expect(shows({ stdout: 'stored 4f as 4f, now\nmore\n' })).toBe(false)
})

test('a here-document without its end and a value that was not printed are refused', () => {
  expect(() => readStory("A story.\n\n$ bridge send <<'TEXT'\n> one\n")).toThrow('does not end')
  expect(() => fill('bridge ack {message}', new Map())).toThrow('nothing was printed for {message}')
})
