/**
 * `bridge admin watch`: shows the state of a project and its changes until interrupted.
 *
 * - A terminal shows one screen that is redrawn. Other outputs get one line per change. With `--json`, each
 *   snapshot that differs in more than its times is one line.
 * - If the node is unreachable, the command waits. The last snapshot is soon shown as Unavailable.
 *
 * Spec §1; contract §10 "Snapshot".
 */

import type { Owner, Project, ProjectSnapshot } from '../../../sdk/index.ts'
import { neutralize, startOf } from '../../../sdk/plain-text.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { failureWords } from '../../failures/failure-words.ts'
import { messageText } from '../../messages/message-text.ts'
import { asOwner } from '../../owner/client.ts'
import { findProject, type ProjectOption, withProject } from '../../owner/names.ts'
import { changes, loadWording, snapshotText, type Wording } from '../../owner/snapshot-text.ts'
import type { Output } from '../../terminal/output.ts'
import { recordText } from './audit.ts'

/** Shows snapshots. `close` is called after the last one. */
interface View {
  show(snapshot: ProjectSnapshot): void
  away(why: Error | undefined): void
  close(): void
}

export interface WatchOptions extends ProjectOption {
  readonly messages?: true
}

export function watchCommand(context: CliContext, run = watch): Command {
  const watch = command('watch', 'bridge admin watch').description(
    'Watch a project until interrupted: agents, connections, overdue contacts, what needs your attention.',
  )
  watch.option('--messages', 'print only the messages to you that nobody acknowledged, as they come')
  return withProject(watch).action((options: WatchOptions) => run(context, options))
}

export const watch = (context: CliContext, options: WatchOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    if (options.messages) return watchMessages(context, owner, project)
    const { id } = project
    const wording = await loadWording()
    const isPicture = context.io.isTerminal.stdout && !context.output.json
    const view = isPicture ? picture(context, wording) : lines(context, wording)
    try {
      const watching = owner.projects.watch(id, { signal: context.signal, onConnection: view.away })
      for await (const snapshot of watching) view.show(snapshot)
    } finally {
      view.close()
    }
  })

/** Each change of the project, such as a new message, makes a new snapshot. */
async function watchMessages(context: CliContext, owner: Owner, { id, name }: Project): Promise<void> {
  const { output, signal, clock } = context
  let after: string | undefined
  const note = awayNote(output)
  const { isTemporary } = await import('../../../sdk/program.ts')
  let isAway = false
  for await (const _snapshot of owner.projects.watch(id, { signal, onConnection: note }))
    try {
      for await (const message of owner.inbox.all({ projectId: id, after, signal })) {
        const text = `${messageText(message, { project: name, now: clock() })}\n`
        if (!(await output.handOver(message, text))) return
        after = message.id
      }
      if (isAway) note(undefined)
      isAway = false
    } catch (error) {
      if (signal.aborted || !isTemporary(error, 'reading')) throw error
      // The next snapshot comes within seconds, and what was printed is not read again.
      if (!isAway) note(error as Error)
      isAway = true
    }
}

const awayNote = (output: Output) => (why: Error | undefined) =>
  output.note(
    why === undefined
      ? 'the node is reachable again'
      : `the node is unreachable, waiting: ${failureWords(why)}`,
  )

function lines({ output }: CliContext, wording: Wording): View {
  let before: ProjectSnapshot | undefined
  return {
    show(snapshot) {
      if (output.json) {
        if (before === undefined || seen(before) !== seen(snapshot)) output.item(snapshot, '')
      } else {
        const after = before?.activity.at(-1)?.id
        if (after !== undefined && !snapshot.activity.some(({ id }) => id === after))
          output.next('some changes are not shown here; bridge admin audit lists all')
        const fresh = after === undefined ? [] : snapshot.activity.filter(({ id }) => id > after)
        for (const record of fresh) output.item(record, recordText(record))
        for (const line of changes(before, snapshot, wording)) output.item(line, line)
      }
      before = snapshot
    },
    away: awayNote(output),
    close() {},
  }
}

/** A snapshot without the times that change by themselves. */
const seen = (snapshot: ProjectSnapshot): string =>
  JSON.stringify(snapshot, (key, value: unknown) =>
    key === 'observed_at' || key === 'last_contact_at' || key === 'expected_at' ? undefined : value,
  )

const redrawMs = 1000
const home = '\u001b[H'
const clearLine = '\u001b[K'
const clearRest = '\u001b[J'
const clearAll = '\u001b[2J'
const newestRecords = 8

function picture({ io, clock }: CliContext, wording: Wording): View {
  let last: ProjectSnapshot | undefined
  let why: Error | undefined
  const draw = () => {
    if (last === undefined) return
    const away = why === undefined ? [] : [`the node is unreachable, waiting: ${failureWords(why)}`]
    const activity = last.activity.slice(-newestRecords).map(recordText)
    const text = [...away, snapshotText(last, wording, clock()), '', ...activity].join('\n')
    const shown = neutralize(text)
      .split('\n')
      .slice(0, io.rows() - 1)
    io.out(
      `${home}${shown.map((line) => `${startOf(line, io.columns() - 1)}${clearLine}\n`).join('')}${clearRest}`,
    )
  }
  io.out(clearAll)
  const timer = setInterval(draw, redrawMs)
  return {
    show(snapshot) {
      last = snapshot
      draw()
    },
    away(error) {
      why = error
      draw()
    },
    close: () => clearInterval(timer),
  }
}
