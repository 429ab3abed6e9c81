/** Agents on the owner's page: the list, a new agent with a new environment, and what the node refuses. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { enroll } from '../support/agent.ts'
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
    // Each column has a reading of its own.
    await expect
      .poll(() => row('ada').getByRole('cell').allInnerTexts())
      .toEqual([expect.stringMatching('Connected'), expect.any(String), '0', 'key', 'none'])
    await bridge.owner.createAgent(bridge.project.id, 'zoe')
    await row('zoe').getByRole('cell', { name: 'Not connected' }).waitFor()
    // Each column has a reading of its own.
    await expect
      .poll(() => row('zoe').getByRole('cell').allInnerTexts())
      .toEqual([expect.stringMatching('Not connected'), 'never', '0', 'none', 'none'])
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
    await dialog().getByLabel('Name', { exact: true }).fill('  ')
    await dialog().getByRole('button', { name: 'Create the agent' }).click()
    await dialog().getByText('Type a name.').waitFor()
    expect(await dialog().getByRole('alert').count()).toBe(0)
    await dialog().getByLabel('Name', { exact: true }).fill('cleo')
    await dialog().getByLabel('Role').fill('reviewer')
    await dialog().getByRole('button', { name: 'Create the agent' }).click()
    await page.waitForURL(/\/agents\/[0-9a-f-]{36}/)
    await page.getByText('cleo was created. Give it its prompt.').waitFor()
    const enrolment = page.getByRole('region', { name: 'Enrolment', exact: true })
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Enrolment')
    await page.getByRole('heading', { name: 'Pairs' }).waitFor()
    await expect.poll(async () => Math.abs(((await enrolment.boundingBox())?.y ?? 999) - 64)).toBeLessThan(80)
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

  test('of an Arabic name is set apart from the words around it, in sentences and dialogs', async () => {
    const { page, faults } = visitor
    const name = 'مراجع الشيفرة'
    const { id } = await bridge.owner.createAgent(bridge.project.id, name)
    const loose = () =>
      page.evaluate<string[]>(`[...document.querySelectorAll('main *, dialog *, output *')]
        .filter((each) => !each.closest('bdi, textarea, option, form.instructions'))
        .flatMap((each) => [...each.childNodes].filter(({ nodeType }) => nodeType === 3))
        .map(({ data }) => data)
        .filter((text) => text.includes(${JSON.stringify(name)}))`)
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/agents/${id}`)
    await page.getByText(`${name} has no credential that works.`).waitFor()
    expect(await loose()).toEqual([])
    for (const opener of ['New prompt…', 'Set…', 'Take over…', 'Disable…']) {
      await page.getByRole('button', { name: opener, exact: true }).click()
      await dialog().locator('h2').getByText(name, { exact: true }).waitFor()
      expect([opener, await loose()]).toEqual([opener, []])
      if (opener !== 'Disable…') await page.keyboard.press('Escape')
    }
    await dialog()
      .getByRole('button', { name: `Disable ${name}` })
      .click()
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByText(`${name} is enabled.`).waitFor()
    expect(await loose()).toEqual([])
    expect(faults).toEqual([])
  })

  test('that are made after the clock of the node was set back appear', async () => {
    const { page, faults } = visitor
    const { owner, project, clock } = bridge
    await page.goto(`${bridge.url}/projects/${project.id}`)
    await page.getByRole('rowheader', { name: 'ada' }).waitFor()
    clock.step(-3600)
    onTestFinished(() => clock.step(3600))
    await owner.createAgent(project.id, 'after the step')
    await page.getByRole('rowheader', { name: 'after the step' }).waitFor()
    expect(faults).toEqual([])
  })

  test('that need the owner come in the order of what is at stake, each with its way', async () => {
    const { page, faults } = visitor
    const { owner, project, clock } = bridge
    const { id } = await owner.createAgent(project.id, 'gus')
    const code = await owner.enrollmentCode(project.id, id)
    await enroll(bridge.url, code, clock)
    await expect(enroll(bridge.url, code, clock)).rejects.toThrow()
    clock.advance(60)
    const body = { recipient_agent_id: bridge.ada.id, type: 'question', body: 'May I?' }
    const conversation_id = await bridge.ada.conversationWith(bridge.ada.id)
    await bridge.ada.ok({ target: '/api/v1/messages', body: { ...body, conversation_id } })
    clock.advance(60)
    const lost = await bridge.agent('lost')
    await owner.revoke(project.id, lost.enrolled.credential_id)
    clock.advance(240)
    await page.goto(`${bridge.url}/projects/${project.id}`)
    const needs = page.getByRole('region', { name: 'Needs you' })
    await expect
      .poll(() => needs.locator('strong').allInnerTexts())
      .toEqual([
        'A question to the owner',
        'An enrolment code was used a second time',
        'An agent has no credential left',
      ])
    expect(await needs.locator('time').allInnerTexts()).toEqual(['5 min ago', '6 min ago', '4 min ago'])
    const again = needs.getByRole('link', { name: 'Enrol again' })
    expect(await again.last().getAttribute('href')).toMatch(`${lost.id}#enrolment`)
    await again.first().click()
    await page.waitForURL(`**/agents/${id}#enrolment`)
    const top = () =>
      page.evaluate<number>(`document.querySelector('#enrolment')?.getBoundingClientRect().top ?? -1`)
    await expect.poll(async () => (await top()) > 0 && (await top()) < 400).toBe(true)
    expect(faults).toEqual([])
  })
})
