/** A signed-in page on the world that looks the same in every run: fixed times, ids, addresses and loads. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { Chromium, Visitor } from '../chromium.ts'
import { signIn } from '../sign-in.ts'
import type { PortalWorld } from '../world.ts'
import { stillness } from './still.ts'

export interface SteadyPage extends Visitor {
  /** Opens an address and waits until the screen is complete. */
  readonly open: (path: string) => Promise<void>
  /** Waits until the screen is complete. */
  readonly still: () => Promise<void>
}

export async function steadyPage(
  chromium: Chromium,
  world: PortalWorld,
  options: BrowserContextOptions = {},
): Promise<SteadyPage> {
  const visitor = await chromium.visitor(world.url, { userAgent, ...options })
  const { page } = visitor
  await page.clock.setFixedTime(world.clock())
  // The page counts the age of its data by this clock too.
  await page.addInitScript('performance.now = () => 1000')
  await keepLoads(page)
  const still = stillness(page)
  await signIn(page, world.url)
  await still()
  return {
    ...visitor,
    still,
    open: async (path) => {
      await page.goto(`${world.url}${path}`)
      await still()
    },
  }
}

/** The list of sign-ins names the browser. */
const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36'

interface Telemetry {
  readonly hosts: readonly { readonly host: string; readonly sampled_at: string }[]
}

const gib = 1024 ** 3

/** The node's own host and its disk differ between machines. */
async function keepLoads(page: Page): Promise<void> {
  await page.route('**/api/admin/telemetry', async (route) => {
    const reply = await route.fetch()
    const { hosts, ...rest } = (await reply.json()) as Telemetry
    const load = { cpu_percent: 12.5, memory_used_bytes: 6 * gib, memory_total_bytes: 16 * gib }
    const own = { host: 'node', sampled_at: hosts[0]?.sampled_at, ...load, stale: false }
    const reported = hosts.filter(({ host }) => host.startsWith('build-'))
    const sizes = {
      free_bytes: 61 * gib,
      total_bytes: 120 * gib,
      database_bytes: 5_242_880,
      reserve_bytes: 0,
    }
    const storage = { state: 'open', ...sizes }
    await route.fulfill({ response: reply, json: { ...rest, hosts: [own, ...reported], storage } })
  })
  await page.route('**/api/admin/telemetry/history?*', async (route) => {
    const reply = await route.fetch({ url: route.request().url().replace('host=node', 'host=build-01') })
    await route.fulfill({ response: reply })
  })
}

/** Replaces texts that differ between runs: the port of the node, and the id and build of the installation. */
export async function steadyTexts(page: Page, { url }: PortalWorld): Promise<void> {
  const health = (await (await page.request.get(`${url}/api/health`)).json()) as Record<string, unknown>
  const volatile = Object.entries({ ...health, ...(health.build as object) })
    .filter(([name, value]) => /^(server_id|commit|built_at)$/.test(name) && typeof value === 'string')
    .map(([name, value]) => [value, `(${name})`])
  await page.evaluate(
    `for (const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walker.nextNode(); )
      for (const [from, to] of ${JSON.stringify([[new URL(url).host, '127.0.0.1:8484'], ...volatile])})
        if (walker.currentNode.data.includes(from))
          walker.currentNode.data = walker.currentNode.data.replaceAll(from, to)`,
  )
}
