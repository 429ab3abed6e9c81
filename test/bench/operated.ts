/**
 * The node as an operator has it who sets nothing, its log in a file: a line for each request is part of what it costs. No
 * more than the rates of callers are left unbounded.
 */
import { settings } from '../../server/config.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'

const usual = Object.fromEntries(settings.map(({ name, fallback }) => [name, fallback]))
const { log_level = '', reserve_bytes = '' } = usual

export const startOperated = (): Promise<ServerProcess> =>
  startServerProcess({ settings: { log_level, reserve_bytes }, errorsTo: 'node.log' })
