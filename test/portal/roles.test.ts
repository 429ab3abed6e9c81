/** Two people at the page: an administrator sees the assigned project only, and each sees what the other does. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerName } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'

inChromium('an administrator', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let mira: Visitor
  let still: () => Promise<void>
  let other: string

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    const { owner, project, url } = bridge
    other = (await owner.createProject('not for mira')).id
    const target = '/api/admin/administrators'
    const { administrator, link } = await owner.ok<{ administrator: { id: string }; link: string }>({
      ...{ target, body: { name: 'mira' } },
    })
    const body = { project_id: project.id, assigned: true }
    await owner.ok({ target: `${target}/${administrator.id}/assign`, body })
    mira = await chromium.visitor(url)
    still = stillness(mira.page)
    await mira.page.goto(link)
    await mira.page.getByRole('button', { name: 'Sign out' }).waitFor()
    await still()
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const open = async (path: string) => {
    await mira.page.goto(`${bridge.url}${path}`)
    await still()
  }

  test('sees the assigned project and no section of the node', async () => {
    const { page } = mira
    await open('/')
    await page.getByRole('link', { name: 'demo' }).first().waitFor()
    expect(await page.getByText('not for mira').count()).toBe(0)
    for (const name of ['Node', 'People', 'Audit of the node'])
      expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'New project' }).count()).toBe(0)
    expect(mira.faults).toEqual([])
  })

  test.each(['/node', '/people', '/audit'])('is refused at %s in words', async (path) => {
    await open(path)
    await mira.page
      .getByText(/[Oo]nly the owner/)
      .first()
      .waitFor()
  })

  test('does not learn whether another project exists', async () => {
    await open(`/projects/${other}`)
    await mira.page.getByText('It does not exist, or it is not yours.').first().waitFor()
    await mira.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(await mira.page.getByText('not for mira').count()).toBe(0)
  })

  test('and the owner see what the other does, without a reload', async () => {
    const owner = await chromium.visitor(bridge.url)
    const path = `/projects/${bridge.project.id}`
    await signIn(owner.page, bridge.url, path)
    await open(path)
    await mira.page.getByRole('button', { name: 'Pause', exact: true }).click()
    await owner.page.getByRole('button', { name: 'Resume', exact: true }).click()
    await mira.page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
    expect(owner.faults).toEqual([])
    await owner.close()
  })

  test('whose project is taken away is told so, not that the node is silent, and sees it again when it is given back', async () => {
    const { page } = mira
    const { owner, project } = bridge
    const { administrators } = await owner.ok<{ administrators: { id: string }[] }>({
      target: '/api/admin/administrators',
    })
    const target = `/api/admin/administrators/${administrators[0]?.id}/assign`
    const refused = page.getByText('It does not exist, or it is not yours.')
    for (const screen of ['/tasks', '']) {
      await open(`/projects/${project.id}${screen}`)
      await owner.ok({ target, body: { project_id: project.id, assigned: false } })
      await refused.first().waitFor()
      expect([screen, await page.getByRole('alert').count()]).toEqual([screen, 1])
      await owner.ok({ target, body: { project_id: project.id, assigned: true } })
      await expect.poll(() => refused.count()).toBe(0)
      expect(await page.getByText(/^Nothing heard from the node/).isVisible()).toBe(false)
    }
    await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  })

  test('sees a note at the right, which goes to the next screen only while it can be undone', async () => {
    const { page } = mira
    const toast = page.locator('.toast')
    await page.setViewportSize({ width: 1280, height: 800 })
    await open(`/projects/${bridge.project.id}`)
    // By itself a note would go after 10 seconds, which a busy machine may take for the steps below.
    await page.evaluate(`{
      const later = setTimeout
      window.setTimeout = (run, ms) => later(run, ms === 10_000 ? 3_600_000 : ms)
    }`)
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await toast.getByRole('button', { name: 'Undo' }).waitFor()
    const wide = await toast.boundingBox()
    expect((wide?.x ?? 0) + (wide?.width ?? 0)).toBeGreaterThan(1240)
    await page.locator('#sections').getByRole('link', { name: 'Tasks' }).click()
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor()
    await page.setViewportSize({ width: 360, height: 640 })
    await expect.poll(async () => (await toast.boundingBox())?.width).toBe(344)
    await toast.getByRole('button', { name: 'Undo' }).click()
    await toast.waitFor({ state: 'hidden' })
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('button', { name: 'New task' }).click()
    await page.getByLabel('Title').fill('Read the notes')
    await page.getByLabel('Instructions').fill('All of them.')
    await page.getByRole('button', { name: 'Create the task' }).click()
    await toast.getByText('The task is created.').waitFor()
    await page.locator('#sections').getByRole('link', { name: 'Transfers' }).click()
    await page.getByRole('heading', { name: 'Transfers', level: 1 }).waitFor()
    await toast.waitFor({ state: 'hidden' })
  })

  test('or anybody else with a wrong password waits, and the page says how long', async () => {
    const { page, faults, close } = await chromium.visitor(bridge.url)
    await page.goto(`${bridge.url}/sign-in`)
    await page.getByLabel('Name').fill(ownerName)
    const password = page.getByLabel('Password', { exact: true })
    const words = page.getByText(/^Too many tries\. Try again in \d+ s/)
    for (let tries = 0; tries < 12 && !(await words.isVisible()); tries += 1) {
      await password.fill(`not the password ${tries}`)
      const answered = page.waitForResponse((reply) => reply.url().endsWith('/api/admin/session'))
      await password.press('Enter')
      await answered
      await page.getByRole('alert').waitFor()
    }
    await words.waitFor()
    expect(faults).toEqual([])
    await close()
  })
})
