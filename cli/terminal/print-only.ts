/**
 * The commands whose work is only to print, by the words that reach them.
 *
 * When the reader of such a command goes away by choice, as `head` does, nothing is left to do: it ends, and has done what
 * was asked. Every other command goes on without its reader, and ends as it would have ended with one: what it does to
 * the node or to the outbox must not be cut off, nor its failure be hidden, by who reads the result.
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
  'outbox list',
  'task list',
  'task show',
  'transfer list',
  'transfer show',
  'admin whoami',
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
