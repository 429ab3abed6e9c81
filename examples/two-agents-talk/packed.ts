/** Packs the program as it is published and unpacks it into a folder with its dependencies. */
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** Packs this checkout into `folder`. Returns the path of the program. */
export function unpackProgram(folder: string): string {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const packed = execFileSync(npm, ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  execFileSync('tar', ['-xzf', packed.trim().split('\n').at(-1) ?? ''], { cwd: folder })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  return join(folder, 'package', 'dist', 'bridge.cjs')
}
