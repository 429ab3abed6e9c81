/** Findings of `bridge doctor` about installed hooks. */
import type { CliContext } from '../../context.ts'
import { type Finding, ok } from '../../failures/findings.ts'
import { harnesses, harnessNames } from '../harnesses.ts'
import { readRecord } from './record.ts'
import { faultsOf } from './status.ts'

/** One finding for each harness with an installation; several if several things are wrong with it. */
export async function installationFindings({ home }: CliContext): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const harness of harnessNames) {
    const installed = await readRecord(home, harness)
    if (installed === undefined) continue
    const { title } = harnesses[harness]
    const faults = await faultsOf(installed)
    const remedy = `bridge hooks install ${harness} repairs it; bridge hooks uninstall ${harness} removes it`
    if (faults.length === 0) findings.push(ok('hooks', `installed for ${title}`))
    for (const fault of faults)
      findings.push({
        check: 'hooks',
        state: 'problem',
        text: `${title}: ${fault}`,
        remedy,
        exit: 'conflict',
      })
  }
  return findings
}
