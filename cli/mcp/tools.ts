/** All tools, in the order of the list. */

import { filesTool } from './tools/files.ts'
import type { FilesFolder } from './tools/folder.ts'
import { ack, history, inbox, reply, send } from './tools/messages.ts'
import { peers } from './tools/peers.ts'
import { taskTool } from './tools/task.ts'
import type { Tool } from './tools/tool.ts'

export const toolsFor = (files: FilesFolder): readonly Tool[] => [
  inbox,
  send,
  reply,
  ack,
  history,
  peers,
  taskTool(files),
  filesTool(files),
]
