/**
 * `npm run bench [-- --quick] [section…]`: measures the product against its floors and prints one table.
 *
 * A section is a module that yields rows; it starts and ends its own processes. A missed target is printed as
 * MISSED and does not change the exit code, because a busy machine misses targets too.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BenchOptions, header, rowText, type Section } from './rows.ts'

/** The sections by name, in the order of the table. */
const sections: Readonly<Record<string, () => Promise<Section>>> = {
  helper: async () => (await import('./helper/section.ts')).helperSection,
  messages: async () => (await import('./messages/section.ts')).messagesSection,
  listeners: async () => (await import('./listeners/section.ts')).listenersSection,
  commands: async () => (await import('./commands/section.ts')).commandsSection,
  rows: async () => (await import('./rows/section.ts')).rowsSection,
  start: async () => (await import('./start/section.ts')).startSection,
  tasks: async () => (await import('./tasks/section.ts')).tasksSection,
  transfers: async () => (await import('./transfers/section.ts')).transfersSection,
  objects: async () => (await import('./objects/section.ts')).objectsSection,
  move: async () => (await import('./move/section.ts')).moveSection,
  postgres: async () => (await import('./postgres/section.ts')).postgresSection,
  earlier: async () => (await import('./earlier/section.ts')).earlierSection,
  bounds: async () => (await import('./bounds/section.ts')).boundsSection,
}

/** Sections that share the filled nodes, which end after the last of these sections. */
const filled = ['rows', 'start']

const root = fileURLToPath(new URL('../..', import.meta.url))

async function main(words: readonly string[]): Promise<void> {
  const named = words.filter((word) => !word.startsWith('-'))
  const unknown = named.filter((word) => !Object.hasOwn(sections, word))
  if (unknown.length > 0) {
    process.stderr.write(`no section ${unknown.join(', ')}; there are ${Object.keys(sections).join(', ')}\n`)
    process.exitCode = 2
    return
  }
  const began = performance.now()
  const built = await buildProgram()
  // Imported late, because loading a test module fixes which program tests start.
  const { Stores } = await import('./rows/stores.ts')
  const stores = new Stores()
  const options: BenchOptions = { isQuick: words.includes('--quick'), stores }
  try {
    say(`node ${process.version}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`)
    say(header())
    const names = named.length > 0 ? named : Object.keys(sections)
    for (const [index, name] of names.entries()) {
      const sectionBegan = performance.now()
      const section = await sections[name]?.()
      for await (const found of section?.(options) ?? [])
        say(typeof found === 'string' ? found : rowText(found))
      if (!names.slice(index + 1).some((later) => filled.includes(later))) await stores.end()
      say(`${name}: took ${secondsSince(sectionBegan)} s`)
    }
    say(`all of it took ${secondsSince(began)} s`)
  } finally {
    await stores.end()
    rmSync(built, { recursive: true, force: true })
  }
}

/** Builds the program as it is published, which is measured. */
async function buildProgram(): Promise<string> {
  const folder = mkdtempSync(join(root, 'node_modules', '.bench-'))
  execFileSync(process.execPath, ['esbuild.config.ts', folder, '--no-types'], { cwd: root, stdio: 'inherit' })
  process.env.BRIDGE_TEST_PROGRAM = folder
  const { builtFolder } = await import('../support/program.ts')
  if (builtFolder !== folder) throw new Error('the sources would be measured: they were loaded too early')
  return folder
}

const secondsSince = (began: number): string => ((performance.now() - began) / 1000).toFixed(1)

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

await main(process.argv.slice(2))
