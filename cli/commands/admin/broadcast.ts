/** `bridge admin broadcast`: sends one note to every enabled agent of a project. Contract §7. */
import type { BridgeError, LocalError, LocalErrorCode, RefusalCode } from '../../../sdk/index.ts'
import { type Command, command, invalid } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError, type ExitName, localExits, refusalExits } from '../../exit-codes.ts'
import { failureWords } from '../../failures/failure-words.ts'
import { idempotencyKey } from '../../messages/sending.ts'
import { requireMessageBody } from '../../messages/text-argument.ts'
import { asOwner } from '../../owner/client.ts'
import { findProject, gathered, type ProjectOption, withProject } from '../../owner/names.ts'

export interface BroadcastOptions extends ProjectOption {
  readonly key?: string
}

export function broadcastCommand(context: CliContext, run = broadcast): Command {
  const broadcast = command('broadcast', 'bridge admin broadcast "the tests of main fail, do not merge"')
    .description(
      'Send a note to every enabled agent of a project, in your own conversation with each. Prints one receipt for each.',
    )
    .argument('[text]', 'standard input when absent or -')
    .option('--key <key>', 'idempotency key, to retry safely: only what is missing is sent', baseKey)
  return withProject(broadcast).action((text: string | undefined, options: BroadcastOptions) =>
    run(context, text, options),
  )
}

/** The key of each message ends with a colon and the id of its agent, 37 of 128 characters. */
function baseKey(text: string): string {
  if (text.length > 91) throw invalid('It must be 8 to 91 letters, digits, and _ . : -')
  return idempotencyKey(text)
}

export async function broadcast(
  context: CliContext,
  given: string | undefined,
  options: BroadcastOptions,
): Promise<void> {
  const body = await requireMessageBody(context.io, given)
  const { output, signal } = context
  const { BridgeError, LocalError, freshKey } = await import('../../../sdk/program.ts')
  const key = options.key ?? freshKey(context.random)
  await asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agents = await gathered(owner.agents.all(project.id, { state: 'enabled', signal }))
    if (agents.length === 0)
      throw new CommandError('not_found', `no agent of ${project.name} is enabled`, {
        hint: 'bridge admin agent list lists them',
      })
    let stored = 0
    let failure: BridgeError | LocalError | undefined
    for (const { id, name } of agents) {
      const agent = { agent_id: id, agent_name: name }
      try {
        const input = { recipient_agent_id: id, type: 'note' as const, body }
        const message = await owner.messages.send(project.id, input, {
          idempotencyKey: `${key}:${id}`,
          signal,
        })
        stored += 1
        const text = `${name}: stored ${message.id} as number ${message.sequence}`
        output.item({ ...agent, message, error: null }, text)
      } catch (error) {
        if (!(error instanceof BridgeError || error instanceof LocalError)) throw error
        failure ??= error
        const { code } = error
        const words = failureWords(error)
        output.item({ ...agent, message: null, error: { code, message: words } }, `${name}: failed: ${words}`)
        // The others would fail too, each after its time limit.
        if (['unreachable', 'interrupted'].includes(exitOf(error))) break
      }
    }
    if (failure === undefined) return
    const missing = `${agents.length - stored} of ${agents.length} agents`
    throw new CommandError(exitOf(failure), `${missing} have no receipt`, {
      hint: `the same command with --key ${key} sends only what is missing`,
      cause: failure,
    })
  })
}

const exitOf = (failure: BridgeError | LocalError): ExitName =>
  failure.name === 'BridgeError'
    ? refusalExits[failure.code as RefusalCode]
    : localExits[failure.code as LocalErrorCode]
