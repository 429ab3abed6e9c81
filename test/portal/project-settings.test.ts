/** Settings of a project on the owner's page: profile and policy, archiving, and deleting by its name. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerPassword } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('the settings of a project', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url, `/projects/${bridge.project.id}`)
    await visitor.page.getByRole('link', { name: 'Project settings' }).click()
    await button('Save').waitFor()
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const button = (name: string) => visitor.page.getByRole('button', { name, exact: true })
  const dialog = () => visitor.page.getByRole('dialog')
  const field = (name: string) => visitor.page.getByLabel(name, { exact: true })
  const project = async () =>
    (
      await bridge.owner.ok<{
        project: { name: string; state: string; policy: { retention_days: number | null } }
      }>({ target: `/api/admin/projects/${bridge.project.id}` })
    ).project

  test('saves only what was changed, with an Undo', async () => {
    const { page, picture } = visitor
    await field('Days for which acknowledged messages are kept').fill('7')
    // Somebody else renames the project meanwhile.
    const body = { name: 'orchard' }
    await bridge.owner.ok({ target: `/api/admin/projects/${bridge.project.id}/profile`, body })
    await page.getByRole('heading', { level: 1, name: 'Project orchard' }).waitFor()
    await button('Save').click()
    await page.getByText('Saved.').waitFor()
    expect(await project()).toMatchObject({ name: 'orchard', policy: { retention_days: 7 } })
    await picture('project-settings')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await expect.poll(async () => (await project()).policy.retention_days).toBe(null)
  })

  test('shows a refused number and a taken name at their fields', async () => {
    const { page } = visitor
    await bridge.owner.createProject('taken')
    await field('Name').fill('taken')
    await button('Save').click()
    await page.getByText('The name is taken. Choose another.').waitFor()
    await field('Name').fill('  ')
    await button('Save').click()
    await page.getByText('Type a name.').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await button('Undo my changes').click()
    const days = field('Days for which the audit is kept')
    await days.fill('0')
    await button('Save').click()
    await expect.poll(() => days.getAttribute('aria-invalid')).toBe('true')
    await days.fill('many')
    await button('Save').click()
    // The browser itself refuses to send it.
    expect(await page.locator('input:invalid').count()).toBe(1)
    await button('Undo my changes').click()
    expect((await project()).name).toBe('orchard')
  })

  test('archives after a sentence, and comes back in two steps', async () => {
    await button('Archive…').click()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect((await project()).state).toBe('active')
    await button('Archive…').click()
    await dialog().getByRole('button', { name: 'Archive the project' }).click()
    await button('Bring it back, paused').click()
    await button('Resume').click()
    await button('Pause').waitFor()
    expect((await project()).state).toBe('active')
  })

  test('is deleted by its exact name and the password, once', async () => {
    const { page, faults, picture } = visitor
    bridge.clock.advance(601)
    await button('Delete…').click()
    const act = dialog().getByRole('button', { name: 'Delete the project' })
    await dialog().getByLabel('Type its name to confirm').fill('Orchard')
    expect(await act.isDisabled()).toBe(true)
    await dialog().getByLabel('Type its name to confirm').fill('orchard')
    await act.click()
    await dialog().getByLabel('Password').fill(ownerPassword)
    await picture('project-delete')
    await act.click()
    await page.getByText('The project is deleted.').waitFor()
    expect(new URL(page.url()).pathname).toBe('/')
    expect((await bridge.owner.call({ target: `/api/admin/projects/${bridge.project.id}` })).status).toBe(404)
    expect(faults).toEqual([])
  })
})
