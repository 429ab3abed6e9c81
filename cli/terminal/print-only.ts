/**
 * Commands that only print, by their words.
 *
 * If the reader of such a command closes the pipe, as `head` does, the command ends with exit code 0. Every
 * other command continues without its reader and ends with its usual exit code. A closed pipe must not
 * interrupt a change on the node or in the outbox, and must not hide its failure.
 *
 * Contract §12.
 */
import { type Command, wordsOf } from '../command.ts'

export const printOnly: ReadonlySet<string> = new Set([
  'listen',
  'inbox',
  'history',
  'peers',
  'conversations',
  'status',
  'whoami',
  'guide',
  'doctor',
  'server doctor',
  'completion',
  'help',
  'hooks status',
  'outbox list',
  'task list',
  'task show',
  'transfer list',
  'transfer show',
  'admin whoami',
  'admin open',
  'admin inbox',
  'admin history',
  'admin audit',
  'admin status',
  'admin watch',
  'admin telemetry',
  'admin conversations',
  'admin project list',
  'admin administrator list',
  'admin agent list',
  'admin agent show',
  'admin credential list',
  'admin credential show',
  'admin enrollment list',
  'admin enrollment show',
  'admin environment list',
  'admin environment show',
  'admin pairing list',
  'admin sessions list',
  'admin task list',
  'admin task show',
  'admin transfer list',
  'admin transfer show',
])

export const printsOnly = (command: Command): boolean => printOnly.has(wordsOf(command).join(' '))
