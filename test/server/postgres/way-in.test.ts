/**
 * From an installed program to a node on PostgreSQL with the commands of docs/operations.md, word for word,
 * as a role that is no superuser, and to a second node with those of docs/scaling.md and with the systemd unit. Runs
 * with `BRIDGE_TEST_STORE=postgres`.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { program } from '../../support/program.ts'

const programs = process.env.BRIDGE_TEST_POSTGRES_BIN ?? ''
const canRun = isOnPostgres && existsSync(join(programs, 'createdb'))

const pageOf = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
const commandsIn = (text: RegExpExecArray | null) => text?.[1]?.trim().split('\n') ?? []
const commands = commandsIn(/in three commands[^`]*```sh\n([^`]*)```/.exec(pageOf('operations.md')))
const joining = commandsIn(/a copy of two files[^`]*```sh\n([^`]*)```/.exec(pageOf('scaling.md')))
const unit = readFileSync(new URL('../../../examples/deploy/agent-bridge.service', import.meta.url), 'utf8')
const unitPreparation = /^ExecStartPre=\/bin\/sh -c '(.+)'$/m.exec(unit)?.[1] ?? ''

const folder = mkdtempSync(join(tmpdir(), 'bridge-way-in-'))
const { hostname, port, username } = new URL(
  process.env.BRIDGE_TEST_POSTGRES ?? 'postgres://nobody@localhost:1',
)
const asSuperuser = { ...process.env, PGHOST: hostname, PGPORT: port, PGUSER: username }
const sql = (text: string) =>
  execFileSync(join(programs, 'psql'), ['--quiet', '--dbname=postgres', `--command=${text}`], {
    env: asSuperuser,
  })

afterAll(() => {
  rmSync(folder, { recursive: true })
  if (!canRun) return
  sql('DROP DATABASE IF EXISTS agents WITH (FORCE)')
  sql('DROP ROLE IF EXISTS agents')
})

test.skipIf(!canRun)('three commands lead to a node that is ready', async () => {
  expect(commands).toHaveLength(3)
  sql('CREATE ROLE agents LOGIN')
  for (const name of ['bridge', 'agent-bridge'])
    writeFileSync(join(folder, name), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, {
      mode: 0o755,
    })
  const env = environment(await freePort())
  const [createDatabase = '', init = '', start = ''] = commands
  for (const command of [createDatabase, init]) execFileSync('sh', ['-c', command], { env, stdio: 'ignore' })
  const node = await startNode(start, env)
  expect(node.checks).toMatchObject([200, { ready: true }])
  expect(await node.stop()).toEqual([0, null])
})

test.skipIf(!canRun)(
  'a second node joins with a copy of two files, and not with a key of its own',
  async () => {
    expect(joining).toHaveLength(3)
    const [createFolder = '', copy = '', start = ''] = joining.map((command) =>
      command.replaceAll('first.example:', '').replaceAll('/var/lib/agent-bridge/data', '"$FOLDER"'),
    )
    const [first, second] = [join(folder, 'data'), join(folder, 'second')]
    const env = { ...environment(await freePort()), BRIDGE_PACKAGE_BYTES: '0' }
    const init = `bridge server init --data ${second} --database postgres://agents@localhost/agents`
    const refused = spawnSync('sh', ['-c', init], { env, encoding: 'utf8' })
    expect(refused).toMatchObject({
      status: 7,
      stderr: expect.stringMatching(
        /holds an installation already\nhint: for one more node, copy config.json and/,
      ),
    })
    expect(readdirSync(second)).toEqual([])

    const one = await startNode('bridge server start', env)
    // What the unit runs before each start of a node changes nothing here, and fails without a database.
    const prepare = (more: Record<string, string>) =>
      spawnSync('sh', ['-c', unitPreparation], { env: { ...env, ...more }, stdio: 'ignore' }).status
    const url = 'postgres://agents@localhost/agents'
    expect(prepare({})).toBe(0)
    expect(prepare({ BRIDGE_DATABASE_URL: url, BRIDGE_DATA: second })).toBe(0)
    expect(readdirSync(second)).toEqual([])
    expect(prepare({ BRIDGE_DATABASE_URL: `${url}-other`, BRIDGE_DATA: second })).not.toBe(0)
    execFileSync('bash', ['-c', createFolder], { env: { ...env, FOLDER: second } })
    // The copy comes from the data folder of this machine, and goes to the new one.
    const from = copy.replace('scp', 'cp').replace('"$FOLDER"', first)
    execFileSync('bash', ['-c', from], { env: { ...env, FOLDER: second } })
    const other = await startNode(start, { ...env, BRIDGE_PORT: String(await freePort()), FOLDER: second })
    expect([one.checks, other.checks]).toMatchObject([
      [200, { ready: true }],
      [200, { ready: true }],
    ])
    const status = execFileSync('sh', ['-c', `bridge server status --data ${second}`], {
      env,
      encoding: 'utf8',
    })
    expect(status).toMatch(/\nnodes +version +load +waits +lag +seen\n.+\n.+\n$/)
    expect([await one.stop(), await other.stop()]).toEqual([
      [0, null],
      [0, null],
    ])
  },
)

const environment = (nodePort: number) => ({
  ...asSuperuser,
  PATH: `${folder}:${programs}:${process.env.PATH}`,
  BRIDGE_DATA: join(folder, 'data'),
  BRIDGE_PORT: String(nodePort),
  BRIDGE_RESERVE_BYTES: '0',
  BRIDGE_LOG_LEVEL: 'error',
})

async function startNode(start: string, env: NodeJS.ProcessEnv) {
  const node = spawn('sh', ['-c', `exec ${start}`], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(node, 'exit')
  const [line] = (await once(createInterface(node.stdout), 'line')) as [string]
  const ready = await fetch(`${line.replace('ready at ', '')}/api/ready`)
  const stop = () => {
    node.kill('SIGINT')
    return ended
  }
  return { checks: [ready.status, await ready.json()] as const, stop }
}
