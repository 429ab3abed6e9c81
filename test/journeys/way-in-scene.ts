/**
 * The whole way in on a machine without a network, run as a program of its own: a node, the prompts of two agents, and a
 * message from one to the other. Prints what each step printed, as JSON.
 *
 * `node way-in-scene.ts FOLDER`
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { bareMachine, pastedOf } from '../support/shell.ts'
import { type Ended, TestHome } from '../support/test-home.ts'

const [folder = ''] = process.argv.slice(2)
const password = 'correct horse battery staple'
const host = TestHome.at(folder)
const environment = { BRIDGE_DATA: join(folder, 'data') }
const ok = async (ended: Promise<Ended>): Promise<string> => {
  const { code, stdout, stderr } = await ended
  if (code !== 0) throw new Error(`exit ${code}: ${stdout}${stderr}`)
  return stdout
}
const owner = (args: string[], stdin = '') => ok(host.run(args, { environment, stdin }))

await owner(['server', 'init', '--port', '0'])
const node = host.start(['server', 'start', '--port', '0', '--log-level', 'error'], { environment })
const [, url = ''] = /^ready at (\S+)$/m.exec(await node.printed(/^ready at \S+\n/m)) ?? []
const link = (await owner(['server', 'setup-link'])).trim()
await owner(['admin', 'setup', '--name', 'olu', '--url', url, '--password-stdin'], `${link}\n${password}\n`)
await owner(['admin', 'project', 'create', 'demo'])

const machine = bareMachine(join(folder, 'home'))
const enrolled = async (name: string) => {
  await owner(['admin', 'agent', 'create', name])
  const pasted = pastedOf(await owner(['admin', 'enrollment', 'create', name]))
  const shown = await ok(machine.sh(`${pasted.install}\n${pasted.enrol}`))
  return { shown, run: (words: string) => ok(machine.sh(pasted.command(words))) }
}
const ada = await enrolled('ada')
const ben = await enrolled('ben')
const whoami = await ada.run('whoami')
const peers = await ada.run('peers')
const sent = await ada.run("send ben 'the build is green'")
const heard = await ben.run('listen --once --timeout 100')
const [, id = ''] = /^stored (\S+) as number/.exec(sent) ?? []
const acknowledged = await ben.run(`ack ${id}`)
const inbox = await ben.run('inbox')
node.child.kill('SIGTERM')
await node.ended
const left = readdirSync(machine.home).sort()
const interfaces = Object.keys((await import('node:os')).networkInterfaces())
const shown = { first: ada.shown, second: ben.shown, whoami, peers, sent, heard, acknowledged, inbox }
process.stdout.write(JSON.stringify({ ...shown, left, interfaces }))
