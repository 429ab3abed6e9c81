/**
 * The guides that the node serves: a shell runs their commands exactly, with values for the names in
 * capitals.
 *
 * An agent reads them by `bridge guide`, so the test runs the text that an agent would copy.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { guideTopics } from '../../sdk/contract/agent/guides.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Enrolled, enrolled, storedId } from '../support/profiles.ts'
import { program } from '../support/program.ts'
import { TestHome } from '../support/test-home.ts'

const root = join(import.meta.dirname, '..', '..')
const inShell = promisify(execFile)

let bridge: TestBridge
let home: TestHome
let gina: Enrolled
let hugo: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
  home = await TestHome.make()
  gina = await enrolled(bridge, home, 'gina')
  hugo = await enrolled(bridge, home, 'hugo')
  await gina.bridge('session', 'start')
  await hugo.bridge('session', 'start')
})

afterAll(async () => {
  await home.remove()
  await bridge.close()
})

const blocksOf = (guide: string): string[] =>
  [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '')

test.each(guideTopics)('the commands in the guide of %s work', async (topic) => {
  const { stdout: guide } = await gina.bridge('guide', topic)
  const blocks = blocksOf(guide)
  expect(blocks.length).toBeGreaterThan(0)
  const file = join(home.folder, 'notes.txt')
  writeFileSync(file, 'one line\n')
  const question = storedId(
    await hugo.bridge('send', '--json', 'gina', '--type', 'question', 'Which branch?'),
  )
  const task = await hugo.lines<{ id: string }>('task', 'create', 'gina', 'Count', 'Count the lines.')
  const folder = join(home.folder, topic)
  mkdirSync(folder)
  const sent = await hugo.lines<{ id: string }>('transfer', 'send', file, '--to', 'gina')
  const env = {
    PATH: process.env.PATH,
    HOME: home.folder,
    BRIDGE_HOME: join(home.folder, 'bridge'),
    BRIDGE_PROFILE: 'gina',
    NODE: process.execPath,
    PROGRAM: program,
    PEER: 'hugo',
    MESSAGE_ID: question,
    TASK_ID: task[0]?.id,
    TRANSFER_ID: sent[0]?.id,
    FOLDER: folder,
    FILE: file,
  }
  for (const block of blocks) {
    await inShell(
      'bash',
      ['-euo', 'pipefail', '-c', `agent-bridge() { "$NODE" "$PROGRAM" "$@"; }\n${block}`],
      {
        cwd: root,
        env,
      },
    )
  }
})
