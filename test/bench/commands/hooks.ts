/**
 * Hooks of a session without mail. Node's own start is the floor. The rows of a turn add what its three hooks take
 * beyond their floors. The first rows have no waiter, as `claude -p`, Gemini CLI and Copilot CLI; the others have one.
 * Gemini CLI and Copilot CLI run no hook after a tool.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeFile, touch } from '../../../cli/hooks/files.ts'
import { placesOf } from '../../../cli/hooks/places.ts'
import { sessionName } from '../../../cli/hooks/session.ts'
import { program } from '../../support/program.ts'
import { bounded, type Row, row } from '../rows.ts'
import { compare, type Environment, type Repeats } from './starts.ts'

const floor = ['-e', '0']
const turnMost = 60

export async function* hookRows(folder: string, repeats: Repeats, profile: Environment): AsyncGenerator<Row> {
  const environment = {
    ...profile,
    BRIDGE_PROFILE: 'default',
    CLAUDE_CODE_ENTRYPOINT: 'cli',
    CLAUDE_PID: String(process.pid),
  }
  const inputOf = (event: string) =>
    JSON.stringify({ session_id: 'one', cwd: folder, hook_event_name: event })
  const measured = (event: string, before?: () => void) =>
    compare(
      { ...repeats, before },
      floor,
      [program, 'hooks', 'run', 'claude', event],
      environment,
      inputOf(event),
    )

  yield row(
    'commands: the hook of a start, against node -e 0',
    'ms',
    measured('SessionStart'),
    'for comparison',
  )
  const { empty, none } = placesOf(join(folder, 'home'), 'default')
  // As if the hook of the start had just found nothing.
  const started = () => touch(empty(sessionName('claude', 'one')), new Date())
  const first = measured('UserPromptSubmit', started)
  removeFile(empty(sessionName('claude', 'one')))
  const asking = { prompt: measured('UserPromptSubmit'), end: measured('Stop') }
  for (const [what, found] of [
    ['a first prompt', first],
    ['a later prompt', asking.prompt],
    ['the end of a turn', asking.end],
  ] as const)
    yield row(`commands: the hook of ${what} without a waiter`, 'ms', found, 'for comparison')

  const waiter = spawn(process.execPath, [program, 'hooks', 'run', 'claude', 'wait'], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const exited = once(waiter, 'exit')
  try {
    waiter.stdin.end(inputOf('Stop'))
    while (!existsSync(none)) await sleep(20)
    const hooks = {
      'a prompt': measured('UserPromptSubmit'),
      'one tool': measured('PostToolUse'),
      'the end of a turn': measured('Stop'),
    }
    for (const [what, found] of Object.entries(hooks)) {
      yield row(`commands: the hook of ${what}, against node -e 0`, 'ms', found, { atMost: 2 })
      yield bounded(`commands: the hook of ${what} without mail`, 'ms of a turn', found.product, turnMost)
    }
    const waiting = Object.values(hooks)
    yield bounded(
      'commands: all three hooks without mail, beyond node -e 0',
      'ms of a turn',
      addedUp(waiting),
      turnMost,
    )
    for (const [what, found] of [
      ['with a waiter', waiting],
      ['of Codex', [hooks['a prompt'], hooks['one tool'], asking.end]],
      ['of claude -p', [first, hooks['one tool'], asking.end]],
      ['of Gemini CLI or Copilot CLI after the first', [asking.prompt, asking.end]],
    ] as const)
      yield bounded(
        `commands: a turn ${what} without mail, processor time beyond node -e 0`,
        'ms of a turn',
        addedUp(found.map(({ costs }) => inMs(costs))),
        turnMost,
      )
  } finally {
    waiter.kill('SIGTERM')
    await exited
  }
}

interface Sides {
  readonly product: readonly number[]
  readonly floor: readonly number[]
}

/** The sum of what the hooks take beyond their floors, for each round. */
function addedUp(hooks: readonly Sides[]): number[] {
  const beyond = hooks.map(({ product, floor }) => product.map((value, at) => value - (floor[at] ?? 0)))
  const [first = []] = beyond
  return first.map((_, at) => beyond.reduce((sum, each) => sum + (each[at] ?? 0), 0))
}

const inMs = ({ product, floor }: Sides): Sides => ({
  product: product.map((us) => us / 1000),
  floor: floor.map((us) => us / 1000),
})
