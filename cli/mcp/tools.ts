/** All tools, in the order of the list. */
import type { FilesFolder } from './folder.ts'
import type { Tool } from './tool.ts'
import { filesTool } from './tools/files.ts'
import { ack, history, inbox, reply, send } from './tools/messages.ts'
import { peers } from './tools/peers.ts'
import { taskTool } from './tools/task.ts'

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
