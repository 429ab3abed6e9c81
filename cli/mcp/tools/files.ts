/** Tool for file transfers through the node, with the files of one folder. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { transferCancel } from '../../commands/transfer/cancel.ts'
import { transferDecline } from '../../commands/transfer/decline.ts'
import { transferList } from '../../commands/transfer/list.ts'
import { destinationOf } from '../../commands/transfer/receive.ts'
import { transferSend } from '../../commands/transfer/send.ts'
import { transferShow } from '../../commands/transfer/show.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { readAgeKey } from '../../profile/age-key.ts'
import { transferStates } from '../../transfers/options.ts'
import { actionOver, runAction } from './actions.ts'
import { given } from './arguments.ts'
import { existingInside, type FilesFolder, newInside } from './folder.ts'
import { line, type Tool, tool } from './tool.ts'

const text = { type: 'string' } as const

const properties = {
  action: { type: 'string', enum: ['list', 'show', 'send', 'receive', 'decline', 'cancel'] },
  id: { type: 'string', idOf: { name: 'transfer_id' } },
  path: { type: 'string', description: 'send: the file; receive: file or folder' },
  to: { type: 'string', idOf: { name: 'agent', orName: true } },
  name: text,
  overwrite: { type: 'boolean' },
  reason: text,
  role: { type: 'string', enum: ['sender', 'recipient'] },
  state: { type: 'string', oneOf: transferStates },
  limit: { type: 'integer', from: 1, to: 100 },
  line,
} as const

const action = actionOver<typeof properties>()

const actionsIn = (files: FilesFolder) => ({
  list: action([], ['role', 'state', 'limit'], (context, { limit = 20, ...filter }) =>
    transferList(context, { limit, ...filter }),
  ),
  show: action(['id'], [], (context, { id }) => transferShow(context, id)),
  send: action(['path', 'to'], ['name'], async (context, { path, to, name }) =>
    transferSend(context, [await existingInside(files, path)], { to, ...given({ name }) }),
  ),
  receive: action(['id'], ['path', 'overwrite'], (context, { id, path = '.', overwrite = false }) =>
    receive(context, id, { files, path, overwrite }),
  ),
  decline: action(['id'], ['reason'], (context, { id, reason }) =>
    transferDecline(context, id, given({ reason })),
  ),
  cancel: action(['id'], ['reason'], (context, { id, reason }) =>
    transferCancel(context, id, given({ reason })),
  ),
})

interface Receiving {
  readonly files: FilesFolder
  readonly path: string
  readonly overwrite: boolean
}

/** Receives a file that is uploaded. It does not wait for the upload, because a call may take a minute at most. */
async function receive(
  context: CliContext,
  id: string,
  { files, path, overwrite }: Receiving,
): Promise<void> {
  const { output, signal } = context
  const { bridge, paths } = await context.agent()
  const { transfers } = bridge
  const { filename, encryption } = await transfers.get(id, { signal })
  const destination = await destinationIn(files, path, filename)
  const ageSecret = encryption === 'age' ? (await readAgeKey(paths))?.secret : undefined
  const waiting = new AbortController()
  try {
    const received = await transfers.receive(id, destination, {
      overwrite,
      keep: paths.transfers,
      ageSecret,
      onWaiting: () => waiting.abort(),
      signal: AbortSignal.any([signal, waiting.signal]),
    })
    const { size, sha256 } = received.transfer
    output.result(received, `received ${received.path}: ${size} bytes, sha256 ${sha256}, verified`)
  } catch (cause) {
    if (!waiting.signal.aborted || signal.aborted) throw cause
    throw new CommandError('nothing_came', 'accepted, but the sender has not uploaded it yet', {
      hint: 'repeat the call later',
      cause,
    })
  }
}

async function destinationIn(files: FilesFolder, path: string, filename: string): Promise<string> {
  const target = await newInside(files, path)
  const isFolder = await stat(target).then(
    (found) => found.isDirectory(),
    () => false,
  )
  // The name of the other side must not be hidden either.
  return isFolder ? newInside(files, await destinationOf(join(target, '/'), filename)) : target
}

export function filesTool(files: FilesFolder): Tool {
  const actions = actionsIn(files)
  return tool({
    name: 'files',
    description: 'Send files to peers and receive theirs, in the project folder. A repeated call resumes.',
    properties,
    required: ['action'],
    run: (context, values) => runAction(actions, context, values),
  })
}
