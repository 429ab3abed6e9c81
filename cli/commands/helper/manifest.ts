/** `bridge helper manifest FILE`: describes a file for a direct transfer. Spec §2, Transfer manifest. */
import { basename } from 'node:path'
import type { Manifest, TransferMode } from '../../../sdk/program.ts'
import { type Command, command, invalid, oneOf, wholeNumber } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'

export interface ManifestOptions {
  readonly mode: TransferMode
  readonly out?: string
  readonly name?: string
  readonly partSize?: number
  readonly transferId?: string
}

const maxPartBytes = 96 * 1024 * 1024

function transferId(text: string): string {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(text)) return text
  throw invalid('It must be 1 to 128 of A-Z, a-z, 0-9, _ and -.')
}

export function manifestCommand(context: CliContext, run = manifest): Command {
  return command('manifest', 'bridge helper manifest report.pdf --mode download')
    .description('Write the manifest of a file, readable by this user only, and print its digest.')
    .argument('<file>', 'the file; its content is not changed')
    .requiredOption(
      '--mode <mode>',
      'what the helper will do: download or upload',
      oneOf(['download', 'upload']),
    )
    .option(
      '--out <path>',
      'where to write the manifest (default: next to the file, with .manifest.json added)',
    )
    .option('--name <name>', 'name of the file in the transfer (default: its own name)')
    .option(
      '--part-size <bytes>',
      'bytes per part, at most 100663296 (default: chosen by the file size)',
      wholeNumber(1, maxPartBytes),
    )
    .option('--transfer-id <id>', 'id of an earlier manifest, to resume it (default: a new id)', transferId)
    .action((file: string, options: ManifestOptions) => run(context, file, options))
}

export async function manifest(context: CliContext, file: string, options: ManifestOptions): Promise<void> {
  const { loadManifests, manifestText, writeDurably } = await import('../../../sdk/program.ts')
  const { describeFile, manifestDigest } = await loadManifests()
  const path = options.out ?? `${file}.manifest.json`
  await requireReplaceable(path)
  const described = await describeFile(file, {
    mode: options.mode,
    filename: options.name ?? basename(file),
    transferId: options.transferId ?? context.random(16).toString('base64url'),
    partSize: options.partSize,
    signal: context.signal,
  })
  await writeDurably(path, manifestText(described))
  const digest = manifestDigest(described)
  context.output.note(`wrote ${path}`)
  context.output.result(summary(described, path, digest), digest)
}

const summary = ({ parts, ...rest }: Manifest, path: string, digest: string) => ({
  manifest: path,
  digest,
  ...rest,
  parts: parts.length,
})

/** Allows replacing a manifest, but no other file. @throws CommandError */
async function requireReplaceable(path: string): Promise<void> {
  const { parseManifest } = await import('../../../sdk/program.ts')
  const { readFile } = await import('node:fs/promises')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new CommandError('unexpected', `cannot use ${path} (${error.code ?? 'unknown error'})`, {
      cause: error,
    })
  })
  if (text === undefined || !('fault' in parseManifest(text))) return
  throw new CommandError('conflict', `${path} exists and is not a manifest`, {
    hint: '--out chooses another path',
  })
}
