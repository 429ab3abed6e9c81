/** Installs the SDK into a folder as its package file would, from the files built for this run. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { program } from './program.ts'

export function installPackage(folder: string): void {
  const installed = join(folder, 'node_modules/agent-bridge')
  mkdirSync(installed, { recursive: true })
  writeFileSync(join(installed, 'package.json'), '{"type":"module","exports":"./index.js"}')
  symlinkSync(join(dirname(program), 'sdk/index.js'), join(installed, 'index.js'))
}
