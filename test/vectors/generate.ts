/**
 * Writes the vectors: `node test/vectors/generate.ts`.
 *
 * Deterministic: key, times and nonces are fixed or derived from the vector's name, so running it again
 * changes no byte.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { accepted } from './signing-source/accepted.ts'
import { refusedByHead } from './signing-source/head.ts'
import { refusedByProof } from './signing-source/proof.ts'
import { decidedByStore } from './signing-source/stored.ts'
import { build } from './signing-source/vector.ts'

export const signingFolder = new URL('./signing/', import.meta.url)

/** Returns a map from file name to content, of every file in the folder. */
export function signingFiles(): Map<string, string> {
  const situations = Object.entries({ ...accepted, ...refusedByHead, ...refusedByProof, ...decidedByStore })
  return new Map(
    situations.map(([name, situation]) => [
      `${name}.json`,
      `${JSON.stringify(build(name, situation), null, 2)}\n`,
    ]),
  )
}

function write(): void {
  const files = signingFiles()
  for (const name of readdirSync(signingFolder)) {
    if (!files.has(name)) rmSync(new URL(name, signingFolder))
  }
  for (const [name, content] of files) writeFileSync(new URL(name, signingFolder), content)
}

if (import.meta.main) write()
