/**
 * Demo: two agents talk through a node. It runs the commands that a person would type, from an empty machine
 * to an acknowledged answer, a completed task with evidence, and a received file.
 *
 * It starts a real server on loopback with a fresh data folder, and uses one owner and two profiles, each
 * with its key pair. All files are in one temporary folder, which it deletes at the end. Run it with `npm run
 * demo`.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackProgram } from './packed.ts'
import { collect, Person } from './person.ts'

const folder = mkdtempSync(join(tmpdir(), 'bridge-demo-'))
const started = performance.now()
const running: ChildProcess[] = []

try {
  await story(unpackProgram(folder))
  process.stdout.write(
    `\nDone in ${((performance.now() - started) / 1000).toFixed(1)} s. Nothing is left behind.\n`,
  )
} finally {
  for (const child of running) if (child.exitCode === null) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

async function story(program: string): Promise<void> {
  const data = join(folder, 'data')
  const env = { ...process.env, BRIDGE_HOME: join(folder, 'home'), BRIDGE_DATA: data }
  const person = (name: string) => new Person(name, program, env)
  const [host, olu, ada, ben] = [person('host'), person('olu'), person('ada'), person('ben')]

  chapter('A node of one’s own')
  const setupLink = /https?:\S+#\S+/.exec(await host.types(['server', 'init']))?.[0] ?? ''
  const server = host.starts(['server', 'start', '--port', '0', '--log-level', 'error', '--json'])
  running.push(server)
  const url = await readyUrl(server)
  host.say(`the node listens at ${url}`)

  chapter('Its owner, a project, two agents')
  const password = 'correct horse battery staple'
  await olu.types(['admin', 'setup', '--url', url, '--name', 'olu', '--password-stdin'], {
    input: `${setupLink.split('#')[1]}\n${password}\n`,
  })
  await olu.types(['admin', 'project', 'create', 'demo'])
  for (const agent of [ada, ben]) {
    await olu.types(['admin', 'agent', 'create', agent.name, '--project', 'demo'])
    const prompt = await olu.types(['admin', 'enrollment', 'create', agent.name, '--project', 'demo'], {
      quiet: true,
    })
    olu.say(`$ bridge admin enrollment create ${agent.name} --project demo`)
    olu.say('(a prompt with a code that works once: it is pasted to the agent)')
    const code = /<<'CODE'\n(\S+)\nCODE/.exec(prompt)?.[1] ?? ''
    await agent.types(['enroll', '--url', url, '--profile', agent.name], { input: `${code}\n` })
  }

  chapter('One listens, the other asks')
  await ben.types(['session', 'start', '--profile', 'ben'])
  const listening = ben.starts(['listen', '--once', '--timeout', '120', '--json', '--profile', 'ben'])
  running.push(listening)
  const heard = collect(listening)
  const asking = ada.starts([
    'ask',
    'ben',
    'How many lines has README.md?',
    '--timeout',
    '120',
    '--profile',
    'ada',
  ])
  running.push(asking)
  const answered = collect(asking)
  await once(listening, 'close')
  const question = JSON.parse(heard().stdout) as { id: string; body: string; sender: { name: string } }
  ben.say(`${question.sender.name} asks: ${question.body}`)
  await ada.types(['status', question.id, '--profile', 'ada'])

  chapter('It answers and acknowledges; the sender sees each step')
  await ben.types(['reply', question.id, 'About ninety.', '--profile', 'ben'])
  await ben.types(['ack', question.id, '--profile', 'ben'])
  if (asking.exitCode === null) await once(asking, 'close')
  ada.say(answered().stdout)
  await ada.types(['status', question.id, '--profile', 'ada'])
  await check(ada, question.id, answered().stdout)

  chapter('A task: given, claimed, done, proven')
  await taskStory(ada, ben)

  chapter('One hands the other a file; its receipt says that every byte is there')
  await handOver(ada, ben)

  chapter('The node stops cleanly')
  server.kill('SIGTERM')
  const [code] = (await once(server, 'exit')) as [number]
  host.say(`the server ended with exit code ${code}`)
  if (code !== 0) throw new Error('the server did not stop cleanly')
}

/** Ben's runner waits for a task. Ada creates one and checks its timeline and its evidence. */
async function taskStory(ada: Person, ben: Person): Promise<void> {
  const exec = 'echo "progress: 50% counting"; wc -l < README.md'
  const runner = ben.starts(['task', 'run', '--exec', exec, '--once', '--timeout', '120', '--profile', 'ben'])
  running.push(runner)
  const worked = collect(runner)
  const made = await ada.types([
    'task',
    'create',
    'ben',
    'Count the lines',
    'of README.md',
    '--profile',
    'ada',
  ])
  const id = /^created (\S+):/.exec(made)?.[1] ?? ''
  if (runner.exitCode === null) await once(runner, 'close')
  ben.say(worked().stderr)
  const shown = await ada.types(['task', 'show', id, '--profile', 'ada'])
  const steps = ['created', 'claimed', 'progressed', 'completed'].filter(
    (step) => !shown.includes(` ${step} by `),
  )
  if (steps.length > 0) throw new Error(`the timeline does not show ${steps.join(', ')}: ${shown}`)
  if (!shown.includes('evidence: command')) throw new Error(`the task has no evidence: ${shown}`)
}

/**
 * One agent sends a file, the other receives it. Throws unless the bytes are the same and the sender has a
 * receipt.
 */
async function handOver(from: Person, to: Person): Promise<void> {
  const report = join(folder, 'report.txt')
  const inbox = join(folder, 'inbox')
  writeFileSync(report, 'About ninety lines, counted one by one.\n'.repeat(2000))
  mkdirSync(inbox)
  const uploaded = await from.types(['transfer', 'send', report, '--to', to.name, '--profile', from.name])
  const id = /^uploaded (\S+):/m.exec(uploaded)?.[1] ?? ''
  await to.types(['transfer', 'list', '--role', 'recipient', '--profile', to.name])
  await to.types(['transfer', 'receive', 'last', '--output', inbox, '--profile', to.name])
  const shown = await from.types(['transfer', 'show', id, '--profile', from.name])
  const isSame = readFileSync(join(inbox, 'report.txt')).equals(readFileSync(report))
  if (!isSame || !/^receipt: 80000 bytes/m.test(shown)) throw new Error(`the file did not arrive: ${shown}`)
}

function chapter(title: string): void {
  process.stdout.write(`\n── ${title}\n`)
}

/** Returns the URL that the server prints in its line of JSON. */
async function readyUrl(server: ChildProcess): Promise<string> {
  const output = collect(server)
  while (!output().stdout.includes('\n')) {
    const ended = await Promise.race([
      once(server.stdout as NodeJS.ReadableStream, 'data'),
      once(server, 'exit'),
    ])
    if (server.exitCode !== null) throw new Error(`the server ended: ${output().stderr} ${ended}`)
  }
  return (JSON.parse(output().stdout.split('\n')[0] ?? '') as { url: string }).url
}

/** Throws unless the message reached each state and the answer arrived. */
async function check(ada: Person, id: string, answer: string): Promise<void> {
  const shown = await ada.types(['status', id, '--json', '--profile', 'ada'], { quiet: true })
  const { delivery } = JSON.parse(shown) as { delivery: Record<string, unknown> }
  for (const step of ['stored_at', 'first_offered_at', 'acknowledged_at']) {
    if (typeof delivery[step] !== 'string') throw new Error(`the message was never ${step}: ${shown}`)
  }
  if (!answer.includes('About ninety.')) throw new Error(`the answer did not arrive: ${answer}`)
}
