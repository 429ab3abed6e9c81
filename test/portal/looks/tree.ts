/**
 * Tree that a screen reader finds on a screen: roles, names and states in reading order.
 *
 * `test/portal/trees` has the recorded trees. `npm run test:page:pictures` records them anew.
 */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const folder = join(import.meta.dirname, '../trees')

/** Texts that differ between runs. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '(id)'],
  [/\b127\.0\.0\.1:\d+/g, '(node)'],
  // The polite region holds the latest announcement, at most one in 5 seconds.
  [/^- status: .*$/gm, '- status'],
]

/** Compares the tree of the page with the recorded one. `more` names further texts that differ between runs. */
export async function expectTree(
  page: Page,
  name: string,
  more: readonly (readonly [RegExp, string])[] = [],
): Promise<void> {
  let tree = await page.locator('body').ariaSnapshot()
  for (const [pattern, words] of [...more, ...volatile]) tree = tree.replaceAll(pattern, words)
  await expect(`${tree}\n`).toMatchFileSnapshot(join(folder, `${name}.yml`))
}
