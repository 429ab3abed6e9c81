/** One pasted prompt makes an agent, where only Node and the address of the node are known. Contract §4, §11. */
import { execFile, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { onSqlite } from '../support/one-store.ts'
import { builtClient } from '../support/program.ts'
import { type Bare, bareMachine, type Pasted, pastedOf } from '../support/shell.ts'

const folder = mkdtempSync(join(tmpdir(), 'bridge-way-in-'))
let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(async () => {
  await bridge.close()
  rmSync(folder, { recursive: true })
})

let machines = 0
function bare(): Bare {
  machines += 1
  return bareMachine(join(folder, `home-${machines}`))
}

async function promptOf(name: string, at = bridge): Promise<{ id: string; prompt: string }> {
  const { id } = await at.owner.createAgent(at.project.id, name)
  return { id, prompt: await promptAgain(id, at) }
}

const promptAgain = async (id: string, at = bridge): Promise<string> =>
  (
    await at.owner.ok<{ prompt: string }>({
      target: `/api/admin/projects/${at.project.id}/agents/${id}/enrollment`,
      body: {},
    })
  ).prompt

const installedIn = ({ home }: Bare): string[] => {
  const parent = join(home, '.agent-bridge')
  return existsSync(parent) ? readdirSync(parent).sort() : []
}

const noNamespace = spawnSync('unshare', ['-rn', 'sh', '-c', 'ip link set lo up']).status !== 0

// PostgreSQL of the run listens outside this namespace.
onSqlite('test/server/postgres/way-in.test.ts').describe('without a network', () => {
  test.skipIf(noNamespace)(
    'a prompt makes an agent on a machine with loopback only (unshare -rn)',
    async () => {
      const scene = join(import.meta.dirname, 'way-in-scene.ts')
      const run = `ip link set lo up && exec "${process.execPath}" "${scene}" "${folder}"`
      // The server of this process goes on meanwhile.
      const { stdout, stderr } = await promisify(execFile)('unshare', ['-rn', 'sh', '-c', run])
      expect(stderr).toBe('')
      const shown = JSON.parse(stdout) as Record<string, string>
      expect(shown.interfaces).toEqual(['lo'])
      expect(shown.first).toMatch(/^installed \S+\/agent-bridge\nenrolled as ada in demo at http/)
      expect(shown.second).toMatch(/^already installed\nenrolled as ben in demo at http/)
      expect(shown.whoami).toMatch(/^agent ada [\s\S]*instructions of the owner:\n[\s\S]*You are ada/m)
      expect(shown.peers).toContain('ben')
      expect(shown.heard).toContain('the build is green')
      expect(shown.acknowledged).toMatch(/acknowledged/)
      expect(shown.inbox).not.toContain('the build is green')
      // No program wrote into the home, npm included.
      expect(shown.left).toEqual(['.agent-bridge', '.cache', '.config'])
    },
  )
})

test.each(['sh', 'bash', 'zsh', 'dash'].filter((shell) => spawnSync(shell, ['-c', 'true']).status === 0))(
  'the block of the prompt runs in %s',
  async (shell) => {
    const { install, enrol } = pastedOf((await promptOf(`agent-${shell}`)).prompt)
    const ended = await bare().sh(`${install}\n${enrol}`, { shell })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toMatch(/^installed \S+\/agent-bridge\nenrolled as /)
  },
)

test('a second prompt installs nothing again, and the same agent enrols into its profile again', async () => {
  const machine = bare()
  const { id, prompt } = await promptOf('again')
  const first = pastedOf(prompt)
  await machine.sh(`${first.install}\n${first.enrol}`)
  const before = installedIn(machine)
  const launcher = join(machine.home, '.agent-bridge', before[0] ?? '', 'agent-bridge')
  const text = readFileSync(launcher, 'utf8')
  appendFileSync(launcher, '# kept\n')

  const second = pastedOf(await promptAgain(id))
  const ended = await machine.sh(`${second.install}\n${second.enrol}`)
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('the profile has a new key') })
  expect(ended.stdout).toMatch(/^already installed\nenrolled as again/)
  expect(installedIn(machine)).toEqual(before)
  expect(readFileSync(launcher, 'utf8')).toBe(`${text}# kept\n`)
  expect((await machine.sh(second.command('whoami'))).code).toBe(0)
})

test('two installations at the same time both succeed', async () => {
  const machine = bare()
  const { install } = pastedOf((await promptOf('twice')).prompt)
  const ended = await Promise.all([machine.sh(install), machine.sh(install)])
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ])
  expect(installedIn(machine)).toHaveLength(1)
})

test('an installation whose launcher was deleted is repaired', async () => {
  const machine = bare()
  const { install, program } = pastedOf((await promptOf('repaired')).prompt)
  await machine.sh(`${install}; rm ${program}`)
  expect((await machine.sh(install)).stdout).toMatch(/^installed /)
  expect((await machine.sh(`${program} --version`)).code).toBe(0)
})

test('hints name the installed program by its path, since `bridge` may be another one', async () => {
  const machine = bare()
  const { install, program } = pastedOf((await promptOf('hinted')).prompt)
  await machine.sh(install)
  const path = program.replace('~', machine.home)
  const { stderr } = await machine.sh(`${program} whoami`)
  expect(stderr).toContain(`hint: ${path} enroll --url URL creates one`)
  expect((await machine.sh(`${program} send --help`)).stdout).toMatch(
    /^Usage: agent-bridge send[\s\S]*\$ agent-bridge send/,
  )
  expect(await machine.sh(`${program} server start`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('this is the client only'),
  })
})

test('the whole prompt on standard input enrols', async () => {
  const machine = bare()
  const { prompt } = await promptOf('whole')
  const { install, program } = pastedOf(prompt)
  await machine.sh(install)
  const ended = await machine.sh(`${program} enroll --url ${bridge.url} --profile whole`, { stdin: prompt })
  expect(ended).toMatchObject({ code: 0, stderr: '' })
})

describe('the line installs nothing', () => {
  const fails = async (machine: Bare, { install }: Pasted, environment?: Record<string, string>) => {
    const { code, stdout, stderr } = await machine.sh(install, environment && { environment })
    expect(stdout).toBe('')
    return [code, stderr]
  }

  test('if the hash of the file differs', async () => {
    const machine = bare()
    const { prompt } = await promptOf('tampered')
    const hash = /'([0-9a-f]{64})'/.exec(prompt)?.[1] ?? ''
    const pasted = pastedOf(prompt.replace(hash, `${hash.slice(0, 63)}${hash.endsWith('0') ? '1' : '0'}`))
    expect(await fails(machine, pasted)).toEqual([1, 'agent-bridge: wrong SHA-256, nothing is installed \n'])
    expect(installedIn(machine)).toEqual([])
  })

  test('if another server changed the file, of which no byte is run', async () => {
    const [file = ''] = readdirSync(builtClient ?? '')
    const bytes = readFileSync(join(builtClient ?? '', file))
    bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200)
    const forger = createServer((_request, response) => response.end(bytes)).listen(0, '127.0.0.1')
    await new Promise((resolve) => forger.once('listening', resolve))
    const { port } = forger.address() as { port: number }
    const machine = bare()
    const { prompt } = await promptOf('forged')
    const pasted = pastedOf(prompt.replaceAll(bridge.url, `http://127.0.0.1:${port}`))
    expect(await fails(machine, pasted)).toEqual([1, expect.stringContaining('wrong SHA-256')])
    expect(installedIn(machine)).toEqual([])
    forger.close()
  })

  test('if the node has another client by now', async () => {
    const { prompt } = await promptOf('outdated')
    const pasted = pastedOf(
      prompt.replace(/agent-bridge-client-\S+?\.tgz/, 'agent-bridge-client-0.0.0-00000000.tgz'),
    )
    expect(await fails(bare(), pasted)).toEqual([1, 'agent-bridge: HTTP 404 \n'])
  })

  test('if the node is away', async () => {
    const { prompt } = await promptOf('away')
    const pasted = pastedOf(prompt.replaceAll(bridge.url, 'http://127.0.0.1:9'))
    expect(await fails(bare(), pasted)).toEqual([
      1,
      expect.stringMatching(/^agent-bridge: fetch failed \w+\n$/),
    ])
  })

  test('if the home is not writable', async () => {
    const machine = bare()
    writeFileSync(join(machine.home, '.agent-bridge'), 'in the way')
    const [code, stderr] = await fails(machine, pastedOf((await promptOf('full')).prompt))
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^agent-bridge: E\w+: .*\.agent-bridge/)])
  })

  test.each(['20.20.2', '22.18.0', '8.17.0'])('if Node is %s, and names the remedy', async (version) => {
    const machine = bare()
    const pretend = join(machine.home, 'pretend.cjs')
    writeFileSync(pretend, `Object.defineProperty(process.versions, 'node', { value: '${version}' })`)
    const pasted = pastedOf((await promptOf(`old-${version.replaceAll('.', '-')}`)).prompt)
    expect(await fails(machine, pasted, { NODE_OPTIONS: `--require=${pretend}` })).toEqual([
      1,
      `agent-bridge: needs Node 22.19 or newer, this is ${version}: install it from nodejs.org\n`,
    ])
    expect(installedIn(machine)).toEqual([])
  })
})

test('a node without a package asks the owner for the program', async () => {
  const other = await startBridge({ clientFolder: join(folder, 'nothing') })
  const { prompt } = await promptOf('alone', other)
  await other.close()
  expect(prompt).toMatch(/^1\. If agent-bridge is missing, ask your owner/m)
  expect(prompt).toMatch(/^agent-bridge enroll --url /m)
  expect(prompt).not.toContain('node -e')
})
