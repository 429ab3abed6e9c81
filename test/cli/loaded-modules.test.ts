/** Loading modules is most of the cost of a command. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { enrolled } from '../support/profiles.ts'
import { builtFolder } from '../support/program.ts'
import { TestHome } from '../support/test-home.ts'

let bridge: TestBridge
let home: TestHome
let recorder: string

const bundles = pathToFileURL(builtFolder ?? '').href
const parser = ['bridge.cjs', 'cli.cjs']
const client = [...parser, 'client.cjs']

beforeAll(async () => {
  bridge = await startBridge()
  home = await TestHome.make()
  recorder = join(home.folder, 'recorder.mjs')
  // Prints each loaded bundle and package once, when the program ends.
  await writeFile(
    recorder,
    `import { registerHooks } from 'node:module'
     const packages = new Set()
     registerHooks({ load: (url, context, next) => {
       const name = /\\/([^/]+\\.cjs)$/.exec(url.startsWith(${JSON.stringify(bundles)}) ? url : '')?.[1]
         ?? /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]
       if (name !== undefined) packages.add(name)
       return next(url, context)
     } })
     process.on('exit', () => process.stderr.write('loaded ' + JSON.stringify([...packages].sort()) + '\\n'))`,
  )
  await enrolled(bridge, home, 'cleo')
})

afterAll(async () => {
  await home.remove()
  await bridge.close()
})

async function loadedBy(...args: string[]): Promise<string[]> {
  const environment = { NODE_OPTIONS: `--import=${recorder}` }
  const { stderr } = await home.run([...args, '--profile', 'cleo'], { environment })
  return JSON.parse(/^loaded (.*)$/m.exec(stderr)?.[1] ?? 'null') as string[]
}

test.each([
  ['--help'],
  ['--version'],
  ['peers', '--help'],
  ['frobnicate'],
  ['send', 'ben', '--type', 'task'],
])('%s %s loads the parser only', async (...args) => {
  expect(await loadedBy(...args)).toEqual(parser)
})

test('only a command that stores new values loads conf', async () => {
  expect(await loadedBy('send', 'ada', 'first')).toContain('conf')
  for (const args of [
    ['send', 'ada', 'second'],
    ['whoami'],
    ['inbox'],
    ['status'],
    ['history', 'ada'],
    ['outbox', 'list'],
    ['listen', '--once', '--timeout', '1'],
  ]) {
    expect([args, await loadedBy(...args)]).toEqual([args, client])
  }
  // Only a command that stays open loads the package for sockets. On a busy machine a second may be over first.
  await expect.poll(() => loadedBy('listen', '--timeout', '1')).toEqual([...client, 'ws'])
})

test('a hook loads no command and no client, also if it asks the node', async () => {
  const hook = async (event: string) => {
    const environment = {
      NODE_OPTIONS: `--import=${recorder}`,
      BRIDGE_PROFILE: 'cleo',
      CLAUDE_CODE_ENTRYPOINT: 'cli',
    }
    const stdin = JSON.stringify({ session_id: 's1', cwd: '/' })
    const { stderr } = await home.run(['hooks', 'run', 'claude', event], { environment, stdin })
    return JSON.parse(/^loaded (.*)$/m.exec(stderr)?.[1] ?? 'null')
  }
  const light = ['bridge.cjs', 'hooks.cjs']
  const asking = [...light, 'reader.cjs']
  // A hook of a busy machine gives up before it has asked, and one that comes late asks again.
  await expect.poll(() => hook('SessionStart'), { timeout: 120_000 }).toEqual(asking)
  const promptAfterStart = async () => {
    await hook('SessionStart')
    return hook('UserPromptSubmit')
  }
  await expect.poll(promptAfterStart).toEqual(light)
  expect(await hook('PostToolUse')).toEqual(light)
  await expect.poll(() => hook('Stop'), { timeout: 120_000 }).toEqual(asking)
})
