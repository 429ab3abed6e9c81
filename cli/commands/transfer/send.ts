/** `bridge transfer send`. */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { shellWord } from '../../../sdk/contract/spelling.ts'
import type { Transfer } from '../../../sdk/index.ts'
import { type Command, command, invalid, seconds } from '../../command.ts'
import type { Agent, CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { id } from '../../ids/parse.ts'
import { requireServable, requireWay, type WayOptions } from '../../transfers/direct-helper.ts'
import { serving } from '../../transfers/direct-sending.ts'
import { noteResume } from '../../transfers/options.ts'
import { type ShownProgress, transferProgress } from '../../transfers/progress.ts'
import { runSeveral } from '../../transfers/several.ts'

export interface TransferSendOptions extends WayOptions {
  readonly direct?: true
  readonly to?: string
  readonly name?: string
  readonly ttl?: number
  readonly resume?: string
  /** Undefined: encrypt if the recipient has a key. */
  readonly encrypt?: boolean
}

export function transferSendCommand(context: CliContext, run = transferSend): Command {
  return command('send', 'bridge transfer send report.pdf --to ben')
    .description('Offer files to a peer and upload them. The command ends when the node has verified them.')
    .argument('<file...>', 'the file, or several')
    .option('--to <peer>', 'name or id')
    .option('--name <name>', 'file name for the recipient, in printable ASCII')
    .option('--ttl <duration>', 'how long the offer stays open (default 24h, at most 7d)', ttl)
    .option(
      '--encrypt',
      "encrypt to the recipient's key, and fail if there is none (default: encrypt if there is a key)",
    )
    .option('--no-encrypt', 'send the file unencrypted')
    .option(
      '--direct',
      'serve the file from this machine until the peer has it, without storing it on the node',
    )
    .option(
      '--tunnel <url>',
      'with --direct: https address of a tunnel, then = and the local port to which it leads',
      tunnelUrl,
    )
    .option(
      '--tunnel-command <cmd>',
      'with --direct: command that starts a tunnel to $PORT and prints its https address. The first one without a path is used',
    )
    .option(
      '--no-probe',
      'with --tunnel or --tunnel-command: skip the check from this machine, if only the peer can reach the address',
    )
    .option('--allow-plain', 'with --direct: serve plain http, if you trust the network in between')
    .option(
      '--resume <transfer_id>',
      'resume this transfer; repeating the original command resumes it too',
      id,
    )
    .action((files: string[], options: TransferSendOptions) => run(context, files, options))
}

const ttl = (text: string): number => {
  const value = seconds(text)
  if (value >= 60 && value <= 604_800) return value
  throw invalid('It must be from 1m to 7d.')
}

export async function transferSend(
  context: CliContext,
  files: readonly string[],
  options: TransferSendOptions,
): Promise<void> {
  requireForSeveral(files, options)
  if (options.direct === true) await requireWay(options)
  else if (wayWords(options) !== '')
    throw new CommandError('usage', `${wayWords(options).split(' ')[1]} needs --direct`)
  const agent = await context.agent()
  const progress = transferProgress(context, 'uploaded', files.length)
  const resumed = options.resume === undefined ? [] : [options.resume]
  await agent.bridge.transfers.tidy(agent.paths.transfers, { paths: files, ids: resumed })
  await runSeveral(context, files, (file) => sendOne({ context, agent, progress }, file, options))
}

interface Sending {
  readonly context: CliContext
  readonly agent: Agent
  readonly progress: ShownProgress
}

async function sendOne(
  { context, agent, progress }: Sending,
  file: string,
  options: TransferSendOptions,
): Promise<void> {
  const { output, signal } = context
  const { bridge, paths } = agent
  const { to, name, ttl: ttlSeconds, resume, encrypt, direct: isDirect } = options
  const seal = encrypt === false ? undefined : { required: encrypt === true }
  // A resumed transfer has its name.
  if (resume === undefined && (await isFile(file))) await requireName(name ?? basename(file))
  if (isDirect === true) await requireServable(file)
  const direct = isDirect === true ? serving(context, bridge, options) : undefined
  let offered = resume
  const onResumed = (transfer: Transfer) => {
    const { id: transferId } = transfer
    offered = transferId
    output.saw(transfer)
    output.note(`resuming ${transferId}, which was interrupted`)
  }
  const onOffered = (transfer: Transfer) => {
    const { id: transferId, encryption } = transfer
    offered = transferId
    output.saw(transfer)
    output.note(
      `offered as ${transferId}${encryption === 'age' ? ', sealed to the key of the recipient' : ''}`,
    )
  }
  const onSent = (sent: Transfer) => {
    progress.done()
    output.item(
      sent,
      context.typed(
        `${isDirect === true ? 'served' : 'uploaded'} ${sent.id}: ${sent.state}; bridge transfer show ${sent.id} shows the receipt`,
      ),
    )
  }
  const moving = { keep: paths.transfers, direct, onSent, signal, ...progress.of(file) }
  const named = { filename: name, ttlSeconds, seal, onOffered, onResumed }
  try {
    await (resume === undefined
      ? bridge.transfers.send(file, { to: peer(to), ...named, ...moving })
      : bridge.transfers.resume(resume, file, moving))
  } catch (error) {
    progress.done()
    if (offered !== undefined) {
      const how = isDirect === true ? ` --direct${wayWords(options)}` : ''
      noteResume(context, error, `bridge transfer send ${shellWord(file)} --resume ${offered}${how}`)
    }
    throw error
  }
}

/** Anything else is refused when it is opened, with a reason of its own. */
const isFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isFile() === true

/** Checks the name before a large file is read or sealed. @throws CommandError */
async function requireName(name: string): Promise<void> {
  const { filenameRule, isFilename, transferLimits } = await import('../../../sdk/program.ts')
  if (isFilename(name)) return
  throw new CommandError(
    'usage',
    `the name must be 1 to ${transferLimits.filenameChars} characters: ${filenameRule}`,
    { hint: '--name NAME gives the recipient another name, for one file at a time' },
  )
}

/** Checks that options for a single file are not given with several. @throws CommandError */
function requireForSeveral(files: readonly string[], options: TransferSendOptions): void {
  if (files.length === 1) return
  const alone = (['name', 'resume', 'tunnel'] as const).find((option) => options[option] !== undefined)
  if (alone !== undefined) throw new CommandError('usage', `--${alone} works with one file only`)
}

/** The options of a direct transfer, as they have to be typed to resume it. */
const wayWords = ({ tunnel, tunnelCommand, allowPlain, probe }: WayOptions): string =>
  [
    tunnel === undefined ? '' : ` --tunnel ${shellWord(tunnel)}`,
    tunnelCommand === undefined ? '' : ` --tunnel-command ${shellWord(tunnelCommand)}`,
    probe === false ? ' --no-probe' : '',
    allowPlain === true ? ' --allow-plain' : '',
  ].join('')

/** Parses `ORIGIN=PORT` and normalizes the origin. */
const tunnelUrl = (text: string): string => {
  const [, address = '', port = ''] = /^(https?:\/\/[A-Za-z0-9.:[\]-]+)=(\d{1,5})$/i.exec(text) ?? []
  if (URL.canParse(address) && Number(port) >= 1 && Number(port) <= 65_535)
    return `${new URL(address).origin}=${Number(port)}`
  throw invalid(
    'It must be the origin of the tunnel and the local port that it leads to: https://host.example=8485.',
  )
}

function peer(to: string | undefined): string {
  if (to !== undefined) return to
  throw new CommandError('usage', 'name the peer with --to', {
    hint: 'bridge peers lists the peers',
  })
}
