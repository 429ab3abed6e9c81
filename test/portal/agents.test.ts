/** Agents on the owner's page: the list, a new agent with a new environment, and what the node refuses. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('the list of agents', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url, `/projects/${bridge.project.id}/agents`)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const row = (name: string) => visitor.page.getByRole('row').filter({ hasText: name })
  const dialog = () => visitor.page.getByRole('dialog')

  test('shows presence, credential and environment of each', async () => {
    const { page } = visitor
    await row('ada').getByRole('cell', { name: 'Connected' }).waitFor()
    expect(await row('ada').getByRole('cell').allInnerTexts()).toEqual([
      expect.stringMatching('Connected'),
      expect.any(String),
      '0',
      'key',
      'none',
    ])
    await bridge.owner.createAgent(bridge.project.id, 'zoe')
    await row('zoe').getByRole('cell', { name: 'Not connected' }).waitFor()
    expect(await row('zoe').getByRole('cell').allInnerTexts()).toEqual([
      expect.stringMatching('Not connected'),
      'never',
      '0',
      'none',
      'none',
    ])
    expect(await page.getByLabel('Environment').count()).toBe(0)
  })

  test('refuses a name that is taken at its field, and then creates the agent in a new environment', async () => {
    const { page, faults } = visitor
    await page.getByRole('button', { name: 'New agent' }).click()
    expect(await page.locator(':focus').getAttribute('type')).toBe('text')
    await dialog().getByLabel('Name', { exact: true }).fill('ada')
    await dialog().getByLabel('Environment').selectOption('new')
    await dialog().getByLabel('Name of the environment').fill('attic')
    await dialog().getByRole('button', { name: 'Create the agent' }).click()
    await dialog().getByText('The name is taken. Choose another.').waitFor()
    await dialog().getByLabel('Name', { exact: true }).fill('cleo')
    await dialog().getByLabel('Role').fill('reviewer')
    await dialog().getByRole('button', { name: 'Create the agent' }).click()
    await page.waitForURL(/\/agents\/[0-9a-f-]{36}/)
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/agents`)
    await row('cleo').getByRole('cell', { name: 'attic' }).waitFor()
    expect(faults).toEqual([])
  })

  test('is limited to an environment by the address', async () => {
    const { page } = visitor
    await page.getByLabel('Environment').selectOption({ label: 'attic (laptop, 1)' })
    await row('ada').waitFor({ state: 'detached' })
    expect(page.url()).toMatch(/\?environment=[0-9a-f-]{36}$/)
    await page.reload()
    await row('cleo').waitFor()
    expect(await row('ada').count()).toBe(0)
  })

  test('folds disabled agents away', async () => {
    const { page } = visitor
    const { id } = await bridge.owner.createAgent(bridge.project.id, 'gone')
    await bridge.owner.setAgent(bridge.project.id, id, 'disabled')
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/agents`)
    await page.getByText('1 disabled').click()
    await page.getByRole('link', { name: 'gone' }).waitFor()
    expect(await row('gone').count()).toBe(0)
  })
})
