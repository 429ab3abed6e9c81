/** The sender's half of a direct transfer. Contract §9 "Direct mode". */
import { constants, copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bridge, Transfer } from '../sdk/index.ts'
import type { CliContext } from './context.ts'
import { startServing, type WayOptions } from './direct-helper.ts'

/** Serves the bytes that travel until the transfer is over. The folder of it is private, and goes at the end. */
export const serving =
  (context: CliContext, bridge: Bridge, way: WayOptions) =>
  async (transfer: Transfer, path: string): Promise<Transfer> => {
    const { output, signal } = context
    const { manifestText, writeDurably } = await import('../sdk/index.ts')
    const folder = await mkdtemp(join(tmpdir(), 'bridge-direct-'))
    try {
      const root = join(folder, 'root')
      const manifest = join(folder, 'manifest.json')
      await mkdir(root, { mode: 0o700 })
      const served = join(root, transfer.filename)
      // A second name of the same file would be refused; on most file systems the copy shares its blocks.
      await copyFile(path, served, constants.COPYFILE_FICLONE)
      const { id, filename, size, sha256, parts } = transfer
      await writeDurably(
        manifest,
        manifestText({ version: '1', transfer_id: id, mode: 'download', filename, size, sha256, parts }),
      )
      if (way.allowPlain === true)
        output.note('PLAIN HTTP: everybody on the network between reads this file and its token')
      return await bridge.transfers.serve(id, () => startServing(context, { manifest, root }, way), {
        signal,
        onDeposited: () => output.note('serving it; this command ends when the peer has it'),
      })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
