/**
 * The node with the default settings of an operator, and its log in a file: a line per request is part of its
 * cost. Only the rate limits of callers are lifted.
 */
import { settings } from '../../server/settings.ts'
import { type ProcessOptions, type ServerProcess, startServerProcess } from '../support/process.ts'

const usual = Object.fromEntries(settings.map(({ name, fallback }) => [name, fallback]))
const { log_level = '', reserve_bytes = '' } = usual

export type Operated = Pick<ProcessOptions, 'settings' | 'environment'>

export const startOperated = ({ settings: given, ...options }: Operated = {}): Promise<ServerProcess> =>
  startServerProcess({ ...options, settings: { log_level, reserve_bytes, ...given }, errorsTo: 'node.log' })
