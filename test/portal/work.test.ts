/** Tasks and transfers on the owner's page: lists, creating, cancelling, and every state in words. */
import type { Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fileOf, offer } from '../support/files.ts'
import { act, createTask, heldBy, listTasks } from '../support/tasks.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'
import { type PortalWorld, startPortalWorld } from './world.ts'

inChromium('work', () => {
  let world: PortalWorld
  let chromium: Chromium
  let visitor: Visitor
  let home: string
  /** Waits until the page has read what it shows. */
  let still: () => Promise<void>

  beforeAll(async () => {
    ;[world, chromium] = await Promise.all([startPortalWorld(), startChromium()])
    visitor = await chromium.visitor(world.url)
    still = stillness(visitor.page)
    home = `${world.url}/projects/${world.project.id}`
    // The clock of the world stands still, and so does that of the browser.
    await visitor.page.clock.setSystemTime(world.clock())
    await signIn(visitor.page, world.url)
  })
  afterAll(async () => {
    await chromium.close()
    await world.close()
  })

  const list = (name: string) =>
    visitor.page
      .locator('section')
      .filter({ has: visitor.page.getByRole('heading', { level: 2, name: new RegExp(`^${name} `) }) })
  const open = async (id: string) => {
    await visitor.page.goto(`${home}/tasks/${id}`)
    await visitor.page.getByRole('heading', { name: 'Timeline' }).waitFor()
  }
  const says = (text: string | RegExp) => visitor.page.getByText(text).first().waitFor()
  const button = (name: string) => visitor.page.getByRole('button', { name, exact: true })
  const taskOf = (id: string) =>
    world.owner.ok<{ state: string }>({
      target: `/api/admin/projects/${world.project.id}/tasks/${id}`,
    })
  const titled = async (title: string) => {
    const { tasks } = await world.owner.ok<{ tasks: { title: string }[] }>({
      target: `/api/admin/projects/${world.project.id}/tasks?order=newest_first`,
    })
    return tasks.filter((task) => task.title === title).length
  }

  /** Loses the answers to the first `count` requests of this path, after the node has received them. */
  async function loseAnswers(path: string, count: number): Promise<{ readonly keys: string[] }> {
    const keys: string[] = []
    const lose = async (route: Route) => {
      const request = route.request()
      if (request.method() !== 'POST') return route.continue()
      keys.push((await request.headerValue('idempotency-key')) ?? '')
      if (keys.length > count) return route.continue()
      await route.fetch()
      await route.abort('connectionreset')
    }
    await visitor.page.route(`**${path}`, lose)
    return { keys }
  }

  test('tasks lie in five lists by their states', async () => {
    const { page, picture } = visitor
    await page.goto(`${home}/tasks`)
    await list('Open').getByRole('link', { name: 'Count the lines of the generated client' }).waitFor()
    await list('Held').getByRole('link', { name: 'Fix the flaky test of the event stream' }).waitFor()
    await list('Stopping').getByRole('link', { name: 'Run the benchmark on the small machine' }).waitFor()
    await list('Done').getByRole('link', { name: 'Rename the table of offers' }).waitFor()
    await list('Not done').getByRole('link', { name: 'Translate the guide into Thai' }).waitFor()
    expect(await list('Not done').getByRole('link').count()).toBe(4)
    await list('Open').getByText('claim lost or given back').waitFor()
    await list('Held')
      .getByText(/^claim ends in \d+ min$/)
      .waitFor()
    await list('Held').getByText('40 %').waitFor()
    await picture('tasks')
    expect(visitor.faults).toEqual([])
  })

  test('tasks keep filters and view in the address', async () => {
    const { page, picture } = visitor
    await page.getByLabel('Assignee').selectOption('dan')
    await expect.poll(() => page.locator('.task').count()).toBe(2)
    await button('Show as a table').click()
    await page.getByRole('rowheader', { name: 'Reproduce the crash at start-up' }).waitFor()
    expect(await page.getByRole('rowheader').count()).toBe(2)
    expect(page.url()).toContain(`agent=${world.ids.dan}&view=table`)
    await picture('tasks-table')
    await page.reload()
    await page.getByRole('rowheader', { name: 'Reproduce the crash at start-up' }).waitFor()
    expect(await page.getByRole('rowheader').count()).toBe(2)
    await page.goto(`${home}/tasks?agent=${world.ids.fay}`)
    await says('No task is unfinished')
    await button('Show all tasks').click()
    await expect.poll(() => page.locator('.task').count()).toBe(10)
    expect(page.url()).toMatch(/tasks\?span=all$/)
  })

  test('tasks show one list at a time on a narrow screen', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 360, height: 800 })
    await page.goto(`${home}/tasks`)
    await page.getByLabel('List').selectOption('Held')
    await list('Held').waitFor()
    expect(await list('Open').isVisible()).toBe(false)
    expect(page.url()).toContain('show=held')
    await page.setViewportSize({ width: 1280, height: 720 })
    await list('Open').waitFor()
  })

  test('tasks leave older pages to a button, and new tasks come by themselves', async () => {
    const { page } = visitor
    const { ada, ben } = world.agents
    await page.goto(`${home}/tasks`)
    await page.locator('.task').nth(9).waitFor()
    for (let number = 1; number <= 100; number += 1)
      await act(ben, (await createTask(ada, ben, { title: `older ${number}` })).id, 'decline')
    await createTask(ada, ben, { title: 'the newest' })
    await list('Open').getByRole('link', { name: 'the newest' }).waitFor()
    await page.reload()
    await list('Open').getByRole('link', { name: 'the newest' }).waitFor()
    expect(await list('Done').getByRole('link').count()).toBe(0)
    expect(await list('Held').getByRole('link').count()).toBe(1)
    await button('Show older tasks').click()
    await list('Done').getByRole('link', { name: 'Rename the table of offers' }).waitFor()
    await button('Show older tasks').waitFor({ state: 'detached' })
  })

  test('tasks are created once, after two presses and more lost answers than the page asks for', async () => {
    const { page, picture } = visitor
    await page.goto(`${home}/tasks`)
    await button('New task').click()
    await page.getByLabel('Title').fill('made once')
    await button('Create the task').click()
    // The node names the field that it refuses.
    await page.getByLabel('Instructions').and(page.locator('[aria-invalid=true]')).waitFor()
    await page.getByLabel('Instructions').fill('Do it.')
    await picture('task-create')
    const { keys } = await loseAnswers('/tasks', 4)
    await button('Create the task').dblclick()
    await page.getByRole('alert').filter({ hasText: 'The node does not answer.' }).waitFor()
    await button('Create the task').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await list('Open').getByRole('link', { name: 'made once' }).waitFor()
    await page.unroute('**/tasks')
    visitor.faults.length = 0
    expect(keys).toHaveLength(5)
    expect(new Set(keys).size).toBe(1)
    expect(await titled('made once')).toBe(1)
  })

  test('tasks whose answer was lost can be created again with another title, without typing the rest again', async () => {
    const { page } = visitor
    await page.goto(`${home}/tasks`)
    await button('New task').click()
    await page.getByLabel('Title').fill('first title')
    await page.getByLabel('Instructions').fill('Do it.')
    await loseAnswers('/tasks', 4)
    await button('Create the task').click()
    await page.getByRole('alert').filter({ hasText: 'The node does not answer.' }).waitFor()
    await page.getByLabel('Title').fill('second title')
    await button('Create the task').click()
    await page.getByRole('alert').filter({ hasText: 'An earlier text of yours arrived' }).waitFor()
    await button('Create the task').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.unroute('**/tasks')
    visitor.faults.length = 0
    expect([await titled('first title'), await titled('second title')]).toEqual([1, 1])
  })

  test('tasks keep what was typed when the node refuses them', async () => {
    const { page } = visitor
    await page.goto(`${home}/tasks`)
    await button('New task').click()
    await page.getByRole('dialog').getByLabel('Assignee').selectOption('dan')
    await page.getByLabel('Title').fill('too late')
    await page.getByLabel('Instructions').fill('Do it.')
    await world.owner.setAgent(world.project.id, world.ids.dan, 'disabled')
    await button('Create the task').click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Title').inputValue()).toBe('too late')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await titled('too late')).toBe(0)
    await world.owner.setAgent(world.project.id, world.ids.dan, 'enabled')
  })

  test('tasks show result and evidence of each kind, unchecked', async () => {
    const { page, picture } = visitor
    await open(world.tasks.completed)
    await says('; the node has not checked it.')
    await says('✓ exit code 0: it succeeded')
    await says('✕ exit code 2: it failed')
    await page.getByRole('link', { name: 'Open the message' }).waitFor()
    expect(await page.locator('.evidence a').count()).toBe(1)
    await picture('task-completed')
    expect(visitor.faults).toEqual([])
  })

  test('tasks say that a claim was lost, and that no attempt is left', async () => {
    await open(world.tasks.lost)
    await says(/^Claim lost: dan did not renew claim 1 in time, .* The task is open again\.$/)
    await visitor.picture('task-lost')
    await open(world.tasks.exhausted)
    await says(': all 1 attempts are used up')
    await says(/^Claim lost: dan .* No attempt is left\.$/)
  })

  test('tasks that are open are cancelled once, after two presses and a lost answer', async () => {
    const { page, picture } = visitor
    await open(world.tasks.open)
    await button('Cancel the task…').click()
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA')
    await page.getByLabel('Reason').fill('Not needed.')
    await picture('task-cancel')
    const { keys } = await loseAnswers('/cancel', 1)
    await button('Cancel the task').dblclick()
    await says('No agent had claimed it.')
    // The page may show the end of the task before it repeats the request.
    await expect.poll(() => keys.length).toBe(2)
    await page.unroute('**/cancel')
    visitor.faults.length = 0
    expect(new Set(keys).size).toBe(1)
    await expect.poll(() => page.locator('.timeline li').count()).toBe(2)
    await expect.poll(() => page.getByText('Not needed.').count()).toBe(2)
    expect(await button('Cancel the task…').count()).toBe(0)
  })

  test('tasks that are held are asked to stop, until the holder confirms', async () => {
    const { ada } = world.agents
    await open(world.tasks.held)
    await button('Cancel the task…').click()
    await button('Cancel the task').click()
    await says('Asked to stop; ada confirms. Not confirmed yet.')
    await visitor.picture('task-stopping')
    const { tasks } = await listTasks(ada, '?state=cancel_requested')
    const asked = tasks.find(({ id }) => id === world.tasks.held)
    if (asked === undefined) throw new Error('ada has no such task')
    await act(ada, asked.id, 'stopped', heldBy(asked))
    await says(/^ada confirmed the stop, /)
    expect((await taskOf(world.tasks.held)).state).toBe('cancelled')
    await open(world.tasks.stopping)
    expect(await button('Cancel the task…').count()).toBe(0)
  })

  test('tasks whose claim ended before the holder confirmed say so', async () => {
    const { ada, ben } = world.agents
    const { id } = await createTask(ada, ben)
    await act(ben, id, 'claim', { claim_ttl_seconds: 30 })
    await act(ada, id, 'cancel', {})
    await open(id)
    await says('Asked to stop; ben confirms. Not confirmed yet.')
    world.clock.advance(31)
    await listTasks(ben)
    await says('Stop not confirmed: ben may still be working on it.')
    await visitor.picture('task-not-confirmed')
  })

  test('tasks that ended meanwhile are not cancelled, and the page says why', async () => {
    const { page } = visitor
    const { ada, ben } = world.agents
    const { id } = await createTask(ada, ben, { title: 'declined meanwhile' })
    // The page stays as it was when the person decided: it has no wait that could tell it.
    await page.route('**/events?*', () => {})
    await open(id)
    await still()
    await button('Cancel the task…').click()
    await act(ben, id, 'decline', {})
    await button('Cancel the task').click()
    await page.getByRole('alert').or(page.getByText('Declined')).first().waitFor()
    expect((await taskOf(id)).state).toBe('declined')
    await page.unroute('**/events?*')
  })

  test('tasks of another project do not exist', async () => {
    await visitor.page.goto(`${home}/tasks/${world.project.id}`)
    await says('It does not exist.')
  })

  const openTransfer = async (id: string) => {
    await visitor.page.goto(`${home}/transfers/${id}`)
    await visitor.page.getByRole('heading', { name: 'Steps' }).waitFor()
  }

  test('transfers are listed with file, size, both sides and way, and filtered by state', async () => {
    const { page, picture } = visitor
    await page.goto(`${home}/transfers`)
    await page.getByRole('rowheader', { name: 'report.txt' }).waitFor()
    expect(await page.getByRole('rowheader').count()).toBe(9)
    await page.getByRole('cell', { name: 'from machine to machine, sealed' }).waitFor()
    await picture('transfers')
    await page.getByLabel('State').selectOption('Declined')
    await expect.poll(() => page.getByRole('rowheader').count()).toBe(1)
    expect(page.url()).toMatch(/\?state=declined$/)
  })

  test('transfers say what is stored, confirmed and cleaned up', async () => {
    const { picture } = visitor
    await openTransfer(world.transfers.verified)
    await says('3 of 3 parts stored')
    await says('Size and hash of the receipt are equal to the offer.')
    await says('has not said that it cleaned up; nothing for you to do.')
    await picture('transfer-verified')
    await openTransfer(world.transfers.uploading)
    await says('1 of 3 parts stored; not done')
    await says('No receipt: ben has not confirmed that it has the file.')
    await picture('transfer-uploading')
    await openTransfer(world.transfers.direct)
    await says('not deposited; the node stores no bytes')
    expect(visitor.faults).toEqual([])
  })

  test('transfers are cancelled from a dialog', async () => {
    const { page, picture } = visitor
    await openTransfer(world.transfers.uploading)
    await button('Cancel the transfer…').click()
    await picture('transfer-cancel')
    await button('Back').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await button('Cancel the transfer…').click()
    await button('Cancel the transfer').dblclick()
    await says('Cancelled')
    await button('Cancel the transfer…').waitFor({ state: 'detached' })
  })

  test('transfers that ended meanwhile are not cancelled, and the page says why', async () => {
    const { page } = visitor
    const { ada, ben } = world.agents
    const { id } = await offer({ from: ada, to: ben, bytes: fileOf(10), fields: { ttl_seconds: 60 } })
    await page.route('**/events?*', () => {})
    await openTransfer(id)
    await still()
    await button('Cancel the transfer…').click()
    world.clock.advance(61)
    await button('Cancel the transfer').click()
    await page.getByRole('alert').filter({ hasText: 'expired' }).waitFor()
    await page.unroute('**/events?*')
  })

  test('texts of agents stay text', async () => {
    const { page, faults } = visitor
    const { ada, ben } = world.agents
    const hostile = '<img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202eabc'
    const task = await createTask(ada, ben, { title: hostile.replace('\u202e', ''), instructions: hostile })
    const held = await act(ben, task.id, 'claim', {})
    await act(ben, task.id, 'progress', { ...heldBy(held), note: hostile, percent: 1 })
    const kinds = ['text', 'url', 'commit', 'file', 'command', 'message', 'transfer'] as const
    const evidence = kinds.map((kind) => ({ kind, value: hostile, label: `label ${kind} <b>` }))
    await act(ben, task.id, 'complete', { ...heldBy(held), result: hostile, evidence })
    const reasoned = await createTask(ada, ben, { title: 'x' })
    await act(ben, reasoned.id, 'decline', { reason: hostile })
    const filename = "javascript' onerror=alert(1) &lt;b&gt; {{x}}.txt"
    const file = await offer({ from: ada, to: ben, bytes: fileOf(10), fields: { filename } })
    faults.length = 0
    const foreign = () =>
      page.locator('main').locator('img, iframe, b, script, a[href^="javascript"], a[href^="http"]').count()
    await open(task.id)
    await page.getByText('<U+202E>').nth(9).waitFor()
    expect(await foreign()).toBe(0)
    expect(await page.locator('.evidence a').count()).toBe(0)
    await visitor.picture('task-hostile')
    await open(reasoned.id)
    await page.getByText('onerror=alert(1)').nth(1).waitFor()
    // A reason of several lines could imitate the lines of the timeline.
    expect(await page.locator('.timeline figure.body figcaption').textContent()).toContain('written by ben')
    await openTransfer(file.id)
    await page.getByRole('heading', { name: filename }).waitFor()
    await page.goto(`${home}/transfers`)
    await page.getByRole('rowheader', { name: filename }).waitFor()
    await page.goto(`${home}/tasks`)
    await list('Done').getByText('onerror=alert(1)').waitFor()
    expect(await foreign()).toBe(0)
    expect(faults).toEqual([])
  })
})
