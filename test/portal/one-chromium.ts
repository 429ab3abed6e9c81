/**
 * Vitest's global set-up of the tests of the owner's page: one Chromium for all files of the run.
 *
 * A start takes half a second. `chromium.ts` reads the variable in the processes of the tests.
 */
import { chromium } from 'playwright-core'
import { hasChromium, launchOptions } from './chromium-program.ts'

export default async function start(): Promise<() => Promise<void>> {
  if (!hasChromium) return async () => {}
  const server = await chromium.launchServer(launchOptions)
  process.env.BRIDGE_TEST_CHROMIUM = server.wsEndpoint()
  return () => server.close()
}
