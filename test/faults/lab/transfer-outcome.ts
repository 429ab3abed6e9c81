/** The required state after a transfer has ended, whichever process was killed. */
import { existsSync, readdirSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transfer } from '../../../sdk/index.ts'

export interface Outcome {
  /** The only entry in the recipient's folder. */
  readonly box: string
  readonly file: string
  readonly bytes: Buffer
  readonly id: string
  readonly transfers: readonly Transfer[]
  /** The folders in which the two sides keep files of an interrupted run. */
  readonly kept: readonly string[]
  readonly packages: string
}

/**
 * Describes the faults. Required are one transfer, the exact file or none, no remaining bytes on any side,
 * and a cleanup report from both sides.
 */
export async function wrongAfter(
  afterwards: 'again' | 'cancel',
  { box, file, bytes, id, transfers, kept, packages }: Outcome,
): Promise<string[]> {
  const wrong: string[] = []
  const filename = file.slice(file.lastIndexOf('/') + 1)
  const mine = transfers.filter((transfer) => transfer.filename === filename)
  const [transfer] = mine
  if (mine.length !== 1) wrong.push(`offered ${mine.length} times`)
  if (transfer?.state !== (afterwards === 'again' ? 'verified' : 'cancelled'))
    wrong.push(`it is ${transfer?.state}`)
  const { sender_at, recipient_at } = transfer?.cleanup ?? {}
  if (!sender_at || !recipient_at) wrong.push('a side did not report its cleanup')

  const there = await readdir(box)
  const expected = afterwards === 'again' ? [filename] : []
  if (there.join() !== expected.join()) wrong.push(`the destination holds ${there.join()}`)
  if (there.includes(filename) && !(await readFile(join(box, filename))).equals(bytes))
    wrong.push('THE FILE IS WRONG')

  for (const folder of kept) {
    const left = filesBelow(folder)
    if (left.length > 0) wrong.push(`${folder} keeps ${left.join()}`)
  }
  if (!(await comes(() => !existsSync(join(packages, id))))) wrong.push('the node keeps the package')
  return wrong
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name)
}

/**
 * Polls until the condition is true: a node removes files after it has answered, and a process exits after
 * its parent.
 */
export async function comes(isSo: () => boolean): Promise<boolean> {
  for (let look = 0; look < 200; look += 1) {
    if (isSo()) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}
