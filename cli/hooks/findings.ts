/** Findings of `doctor` about the hooks of harnesses: their failures within a day. */
import { type Finding, ok, warning } from '../failures/findings.ts'
import { readLog } from './hook-log.ts'
import { homeLog, placesOf } from './places.ts'

const dayMs = 86_400_000

/** Returns nothing for a profile without hooks. */
export function hookFindings(home: string, profile: string, now: Date): Finding[] {
  const { log } = placesOf(home, profile)
  const isRecent = ({ at }: { readonly at: string }) => Date.parse(at) > now.getTime() - dayMs
  const [own, shared] = [readLog(log), readLog(homeLog(home))]
  const lines = [...own, ...shared]
  if (lines.length === 0) return []
  const recent = lines.filter(isRecent)
  const failed = recent.filter((line) => line.failed)
  const findings: Finding[] = []
  const last = failed.at(-1)
  if (last !== undefined) {
    const { harness, event, outcome, message = '' } = last
    const count = failed.length === 1 ? '1 hook' : `${failed.length} hooks`
    findings.push(
      warning(
        'hooks',
        `${count} failed within 24 hours, the last was ${harness} ${event}: ${outcome}, ${message}`,
        `${own.some((line) => line === last) ? log : homeLog(home)} has each failure`,
      ),
    )
  }
  if (recent.some(({ outcome }) => outcome === 'too_many_wakes'))
    findings.push(
      warning(
        'hooks',
        'a session was woken 20 times within an hour and then left alone',
        'bridge inbox shows the messages that nobody acknowledges',
      ),
    )
  return findings.length === 0 ? [ok('hooks', 'no failure within 24 hours')] : findings
}
