/** The Chromium of the tests: Debian's, or the file that `BRIDGE_CHROMIUM` names. */
import { existsSync } from 'node:fs'
import type { LaunchOptions } from 'playwright-core'

const program = process.env.BRIDGE_CHROMIUM ?? '/usr/bin/chromium'

export const hasChromium = existsSync(program)

export const launchOptions: LaunchOptions = {
  executablePath: program,
  args: [
    '--no-sandbox',
    // Pictures of the page are the same on every machine.
    '--font-render-hinting=none',
    '--disable-lcd-text',
    '--force-color-profile=srgb',
  ],
}
