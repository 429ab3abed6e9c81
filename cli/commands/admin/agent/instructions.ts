/**
 * `bridge admin agent instructions`: shows the start instructions of an agent, or saves new ones. Contract
 * §10.
 */
import { type Command, command, invalid } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner, withHint } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { readTextFile } from '../../../owner/text-file.ts'

export interface InstructionsOptions extends ProjectOption {
  file?: string
  /** A timestamp, or `none` if nothing was saved yet. */
  ifUpdatedAt?: string
}

export function instructionsCommand(context: CliContext, run = instructions): Command {
  const show = command('instructions', 'bridge admin agent instructions ada')
    .description(
      'Show the instructions that an agent gets at its start. With --file, first save its work instructions.',
    )
    .argument('<agent>', 'name or id')
    .option('--file <file>', 'the work instructions to save; - is standard input')
    .option(
      '--if-updated-at <time>',
      'save only if nobody saved others since: the time that this command showed, or none',
      updatedAt,
    )
  return withProject(show).action((agent: string, options: InstructionsOptions) => {
    if (options.ifUpdatedAt !== undefined && options.file === undefined)
      show.error('error: --if-updated-at needs --file')
    return run(context, agent, options)
  })
}

function updatedAt(text: string): string {
  if (text === 'none') return text
  const moment = /^\d{4}-\d{2}-\d{2}T/.test(text) ? new Date(text) : undefined
  if (moment !== undefined && !Number.isNaN(moment.getTime())) return moment.toISOString()
  throw invalid('It must be a time like 2026-11-21T04:00:00.000Z, or none.')
}

export const instructions = (
  context: CliContext,
  agent: string,
  options: InstructionsOptions,
): Promise<void> =>
  withHint('state_conflict', 'without --file this command shows them', () => save(context, agent, options))

const save = (context: CliContext, agent: string, options: InstructionsOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const { signal, output } = context
    const text = options.file === undefined ? undefined : await readTextFile(context, options.file)
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const current = await owner.agents.instructions(project.id, agentId, { signal })
    const version = options.ifUpdatedAt ?? current.updated_at
    const ifUpdatedAt = version === 'none' ? null : version
    const preview =
      text === undefined
        ? current
        : await owner.agents.setInstructions(project.id, agentId, text, { ifUpdatedAt, signal })
    const saved = preview.updated_at === null ? 'none saved yet' : `saved ${preview.updated_at}`
    output.note(`work instructions: ${saved}; the agent reads this at its next start`)
    output.result(preview, preview.rendered.trimEnd())
  })
