/** A name where no element can isolate it: in an option, an accessible name or a tooltip. */
import { oneLine } from '../../../../sdk/browser.ts'

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** Returns one line with invisible characters shown. A line with right-to-left letters cannot reorder the text around it. */
export function plainName(text: string): string {
  const line = oneLine(text)
  return rightToLeft.test(line) ? `\u2068${line}\u2069` : line
}
