/**
 * `npm run docs`: writes the generated pages, and the generated sections of the written ones.
 *
 * Each page reads its facts from the code. `test/contract/docs.test.ts` generates them again and compares, so no page can
 * become outdated. Run as a program, this file writes the pages; imported, it only returns them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { answerHeadersSection, apiPage } from './generate/api.ts'
import { claimSection } from './generate/claim-example.ts'
import { cliPage } from './generate/cli.ts'
import { codesSection, errorsPage, helperCodesSection, startCodesSection } from './generate/errors.ts'
import { fill } from './generate/markdown.ts'
import { metricsSection } from './generate/metrics.ts'
import { schemaPage } from './generate/schema.ts'
import { sdkPage } from './generate/sdk.ts'
import { checksSection, settingsSection, signingSection } from './generate/sections.ts'
import { shapeSections } from './generate/shapes.ts'
import { statesPage, taskTable, transferTable } from './generate/states.ts'

/** Pages of which nothing is written by hand. */
const generated: Readonly<Record<string, () => string | Promise<string>>> = {
  'api.md': apiPage,
  'cli.md': cliPage,
  'errors.md': errorsPage,
  'schema.sql': schemaPage,
  'sdk.md': sdkPage,
  'states.md': statesPage,
}

/** Written pages, and the sections of each that are generated. */
const written: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'operations.md': { metrics: metricsSection, settings: settingsSection },
  'protocol.md': {
    'answer-headers': answerHeadersSection,
    checks: checksSection,
    'enrollment-example': claimSection,
    'signing-example': signingSection,
    codes: codesSection,
    'helper-codes': helperCodesSection,
    'helper-start-codes': startCodesSection,
    'task-states': taskTable,
    'transfer-states': transferTable,
    ...shapeSections,
  },
}

export const pageNames: readonly string[] = [...Object.keys(generated), ...Object.keys(written)]

const pathOf = (name: string): URL => new URL(name, import.meta.url)

/** Returns a page by its name: a generated page whole, a written page with its generated sections renewed. */
export async function render(name: string): Promise<string> {
  const whole = generated[name]
  if (whole !== undefined) return whole()
  const sections = Object.entries(written[name] ?? {}).map(([section, make]) => [section, make()])
  return fill(readFileSync(pathOf(name), 'utf8'), Object.fromEntries(sections))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of pageNames) writeFileSync(pathOf(name), await render(name))
}
