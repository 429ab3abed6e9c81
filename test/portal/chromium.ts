/**
 * A real Chromium for the tests of the owner's page.
 *
 * Every page that it opens records as faults: a console error, a violation of the content security policy, a
 * dialog of a script, and a request to another origin.
 */
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { describe } from 'vitest'
import { hasChromium, launchOptions } from './chromium-program.ts'

/** Tests that need Chromium. Without the program they are skipped by name. */
export const inChromium = describe.skipIf(!hasChromium)

export interface Visitor {
  readonly page: Page
  /** Faults so far. */
  readonly faults: string[]
  /** Stores pictures of the page in the folder that `BRIDGE_PICTURES` names, if it names one. */
  picture(name: string): Promise<void>
  close(): Promise<void>
}

export interface Chromium {
  /** Opens a browser without history or cookies on the node at this origin. */
  visitor(origin: string, options?: BrowserContextOptions): Promise<Visitor>
  close(): Promise<void>
}

export async function startChromium(): Promise<Chromium> {
  // The Chromium of this run, or one for this file alone. After `connect`, `close` ends only what was opened here.
  const { BRIDGE_TEST_CHROMIUM: shared } = process.env
  const browser = await (shared === undefined ? chromium.launch(launchOptions) : chromium.connect(shared))
  return {
    visitor: (origin, options = {}) => visit(browser, origin, options),
    close: async () => {
      await Promise.all(browser.contexts().map(leaveRoutes))
      await browser.close()
    },
  }
}

/**
 * Removes the routes of all pages. A route whose handler still waits for an answer would otherwise reject a promise
 * outside of any test when its page closes, and fail the run.
 */
async function leaveRoutes(context: BrowserContext): Promise<void> {
  const all = [context, ...context.pages()]
  await Promise.all(all.map((each) => each.unrouteAll({ behavior: 'ignoreErrors' })))
}

async function visit(browser: Browser, origin: string, options: BrowserContextOptions): Promise<Visitor> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options })
  // A console error is a fault, so a violation becomes one.
  await context.addInitScript(
    `addEventListener('securitypolicyviolation', (each) => console.error('violates', each.violatedDirective, each.blockedURI))`,
  )
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    // Chromium reports each refused request as an error, also those that the page expects.
    const isStatus = /^Failed to load resource: .*status of 4\d\d/.test(message.text())
    if (message.type() === 'error' && !isStatus) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('dialog', (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`)
    // A page that closes takes its dialog with it.
    dialog.dismiss().catch(() => {})
  })
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) faults.push(`a request to ${request.url()}`)
  })
  const close = async () => {
    await leaveRoutes(context)
    await context.close()
  }
  return { page, faults, picture: (name) => takePictures(page, name), close }
}

/** Three widths in both themes. */
async function takePictures(page: Page, name: string): Promise<void> {
  const folder = process.env.BRIDGE_PICTURES
  if (folder === undefined) return
  const before = page.viewportSize()
  for (const width of [360, 820, 1440])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: true })
    }
  if (before !== null) await page.setViewportSize(before)
}
