/** Sender's side of a direct transfer. Contract §9 "Direct mode". */
import { dirname, join } from 'node:path'
import type { Bridge, Transfer } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { isPlain, startServing, type WayOptions } from './direct-helper.ts'
import { warnPlainHttp } from './options.ts'

/**
 * Serves the file until the transfer ends. The file is alone in a private folder, under the name that was
 * offered. The manifest is written next to that folder and is deleted together with it.
 */
export const serving =
  (context: CliContext, bridge: Bridge, way: WayOptions) =>
  async (transfer: Transfer, path: string): Promise<Transfer> => {
    const { output, signal } = context
    const { manifestText, writeDurably } = await import('../../sdk/program.ts')
    const root = dirname(path)
    const manifest = join(dirname(root), 'manifest.json')
    const { id, filename, size, sha256, parts } = transfer
    const file = { version: '1', transfer_id: id, mode: 'download', filename, size, sha256, parts } as const
    await writeDurably(manifest, manifestText(file))
    if (isPlain(way)) warnPlainHttp(output)
    let wasGood = false
    return bridge.transfers.serve(
      id,
      () => startServing(context, { file, manifest, root }, way, { wasGood }),
      {
        signal,
        onDeposited() {
          wasGood = true
          output.note('serving the file; this command ends when the peer has received it')
        },
      },
    )
  }
