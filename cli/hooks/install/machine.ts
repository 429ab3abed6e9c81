/** Reads what an installation has to know of this process. */
import { realpathSync } from 'node:fs'
import type { CliContext } from '../../context.ts'
import type { Machine } from './places.ts'

export function machineOf({ environment, homeDirectory }: CliContext): Machine {
  const [, program = ''] = process.argv
  return { home: homeDirectory, environment, node: process.execPath, program: realpathSync(program) }
}
