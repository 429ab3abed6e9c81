/** `bridge transfer receive`. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '../../../sdk/contract/spelling.ts'
import type { ReceivedFile } from '../../../sdk/index.ts'
import { type Command, command } from '../../command.ts'
import type { Agent, CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { id } from '../../ids/parse.ts'
import { readAgeKey } from '../../profile/age-key.ts'
import { exampleTransfer, noteResume, warnPlainHttp } from '../../transfers/options.ts'
import { type ShownProgress, transferProgress } from '../../transfers/progress.ts'
import { runSeveral } from '../../transfers/several.ts'

export interface TransferReceiveOptions {
  readonly output?: string
  readonly overwrite?: true
  readonly allowPlain?: true
}

export function transferReceiveCommand(context: CliContext, run = transferReceive): Command {
  return command('receive', `bridge transfer receive ${exampleTransfer} --output inbox/`)
    .description(
      'Accept files, download and verify them, and send their receipts. Run the command again to resume.',
    )
    .argument('<transfer_id...>', 'the transfer, or several', ids)
    .option('--output <path>', 'target file or folder (default: the current folder)')
    .option(
      '--allow-plain',
      'accept a direct transfer over plain http, which anyone on the network in between can read',
    )
    .option('--overwrite', 'replace an existing file of that name')
    .action((transferIds: string[], options: TransferReceiveOptions) => run(context, transferIds, options))
}

const ids = (word: string, before: string[] = []): string[] => [...before, id(word)]

export async function transferReceive(
  context: CliContext,
  transferIds: readonly string[],
  options: TransferReceiveOptions,
): Promise<void> {
  const { output: to = '.' } = options
  if (transferIds.length > 1 && !isFolder(to))
    throw new CommandError('usage', 'several files need a folder as --output', {
      hint: 'create it first, or end its name with a /',
    })
  const agent = await context.agent()
  const progress = transferProgress(context, 'received', transferIds.length)
  await agent.bridge.transfers.tidy(agent.paths.transfers, { ids: transferIds })
  await runSeveral(context, transferIds, (id) => receiveOne({ context, agent, progress }, id, options))
}

interface Receiving {
  readonly context: CliContext
  readonly agent: Agent
  readonly progress: ShownProgress
}

async function receiveOne(
  { context, agent, progress }: Receiving,
  transferId: string,
  { output: to = '.', overwrite, allowPlain }: TransferReceiveOptions,
): Promise<void> {
  const { output, signal } = context
  const { bridge, paths } = agent
  const { transfers } = bridge
  const { filename, encryption } = await transfers.get(transferId, { signal })
  const destination = await destinationOf(to, filename)
  const ageSecret = encryption === 'age' ? (await readAgeKey(paths))?.secret : undefined
  let isNoted = false
  const onWaiting = () => {
    if (!isNoted) output.note('waiting for the sender to upload or serve it')
    isNoted = true
  }
  const onReceived = ({ transfer, path }: ReceivedFile) => {
    progress.done()
    output.item(
      { transfer, path },
      `received ${path}: ${transfer.size} bytes, sha256 ${transfer.sha256}, verified${encryption === 'age' ? ', then opened with the key of this profile' : ''}`,
    )
  }
  try {
    await transfers.receive(transferId, destination, {
      overwrite,
      onReceived,
      keep: paths.transfers,
      ageSecret,
      allowPlainHttp: allowPlain,
      onPlainHttp: () => warnPlainHttp(output),
      onWaiting,
      signal,
      ...progress.of(transferId),
    })
  } catch (error) {
    progress.done()
    const how = `${overwrite ? ' --overwrite' : ''}${allowPlain ? ' --allow-plain' : ''}`
    const where = `${to === '.' ? '' : ` --output ${shellWord(to)}`}${how}`
    noteResume(context, error, `bridge transfer receive ${transferId}${where}`)
    throw error
  }
}

/**
 * The name of the other side counts in a folder only, and only as a name. @throws CommandError for what is
 * none
 */
export async function destinationOf(to: string, filename: string): Promise<string> {
  if (!isFolder(to)) return to
  const { isFilename } = await import('../../../sdk/program.ts')
  if (isFilename(filename)) return join(to, filename)
  throw new CommandError('integrity', 'the offered name is not a plain file name', {
    hint: 'choose one yourself: --output FILE',
  })
}

function isFolder(path: string): boolean {
  return path.endsWith('/') || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
