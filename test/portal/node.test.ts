/** The node, its people, and how far an administrator of projects can see. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueTelemetryToken } from '../../server/host/init.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { exchange } from '../support/http.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../support/object-store.ts'
import { ownerPassword } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('the node', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let other: { id: string }
  let links: string[]

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    other = await bridge.owner.createProject('not for mira')
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url, '/node')
    links = []
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const button = (name: string, { page } = visitor) => page.getByRole('button', { name, exact: true })
  const dialog = () => visitor.page.getByRole('dialog')
  const confirm = async (verb: string, password = ownerPassword) => {
    await dialog().getByText('This needs your password again.').waitFor()
    await dialog().getByLabel('Password', { exact: true }).fill(password)
    await dialog().getByRole('button', { name: verb, exact: true }).click()
  }
  const people = async () => {
    const target = '/api/admin/administrators'
    const { administrators } = await bridge.owner.ok<{
      administrators: { name: string; state: string; project_ids: string[] }[]
    }>({ target })
    return administrators
  }
  const takeLink = async () => {
    const link = visitor.page.getByLabel('Sign-in link of mira')
    await link.waitFor()
    links.push(await link.inputValue())
    await button('Close').click()
    await button('Close without a copy').click()
    await link.waitFor({ state: 'detached' })
  }

  const report = async (cpu_percent: number) => {
    const token = await issueTelemetryToken(testConfig(bridge.data))
    const sample = { host: 'build-01', sampled_at: bridge.clock().toISOString(), cpu_percent }
    const memory = { memory_used_bytes: 12 * 1024 ** 3, memory_total_bytes: 32 * 1024 ** 3 }
    const reply = await exchange(bridge.url, {
      method: 'POST',
      target: '/api/telemetry/host',
      headers: [
        ['Authorization', `Bearer ${token}`],
        ['Content-Type', 'application/json'],
      ],
      body: JSON.stringify({ ...sample, ...memory }),
    })
    expect(reply.status).toBe(200)
  }

  test('shows load, room and health, and how another machine reports', async () => {
    const { page, picture } = visitor
    await page.getByText('Open: the node takes new data.').waitFor()
    await page.getByText('The disk has room').waitFor()
    await page.getByText('Other machines can report here.').waitFor()
    await page.getByText('agent-bridge server doctor --data …', { exact: true }).waitFor()
    await report(20)
    bridge.clock.advance(61)
    await report(80)
    // The history of a machine is read when its card is first shown.
    await page.reload()
    const card = page.locator('.card').filter({ hasText: 'build-01' })
    await card.getByText('38 %, 12 GiB of 32 GiB').waitFor()
    await card.getByText('CPU in the last 1 min: 20 % to 80 %').waitFor()
    expect(await card.getByRole('meter', { name: 'CPU' }).getAttribute('value')).toBe('0.8')
    await card.getByRole('img', { name: /^Memory in the last/ }).waitFor()
    await picture('node')
    bridge.clock.advance(120)
    await card.getByText('Unavailable').waitFor()
    expect(await card.getByRole('meter').count()).toBe(0)
  })

  test('names each node that was lost or stopped, also if one serves alone', async () => {
    const { page } = visitor
    const nodes = page.getByRole('region', { name: 'Nodes' })
    expect(await nodes.count()).toBe(0)
    const node = { version: '0.1.0', seen_at: '2026-01-01T03:12:03.000Z' }
    const ended = [
      { ...node, id: 'b-1', name: 'b', left: false },
      { ...node, id: 'c-1', name: 'c', left: true },
    ]
    const address = '**/api/admin/telemetry'
    await page.route(address, async (route) => {
      const response = await route.fetch()
      const list = (await response.json()) as object
      await route.fulfill({ response, json: { ...list, ended_nodes: ended } })
    })
    const lines = nodes.getByRole('listitem')
    await lines.filter({ hasText: 'b' }).getByText('Lost: no heartbeat since 1 Jan 2026, 03:12:03').waitFor()
    await lines.filter({ hasText: 'c' }).getByText('Stopped at 1 Jan 2026, 03:12:03').waitFor()
    expect(await lines.count()).toBe(3)
    await visitor.picture('nodes-ended')
    await page.unroute(address)
    await nodes.waitFor({ state: 'detached' })
  })

  test('lets the owner make an administrator after the password, and shows the link once', async () => {
    const { page, picture } = visitor
    await page.goto(`${bridge.url}/people`)
    await page.getByText('No administrator yet.').waitFor()
    bridge.clock.advance(11 * 60)
    await button('New administrator').click()
    await dialog().getByLabel('Name').fill('mira')
    await button('Make the administrator').click()
    await dialog().getByText('This needs your password again.').waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect(await people()).toEqual([])

    await button('New administrator').click()
    await dialog().getByLabel('Name').fill('mira')
    await button('Make the administrator').click()
    await confirm('Make the administrator', 'not the password')
    await dialog().getByText('The password is wrong.').waitFor()
    await confirm('Make the administrator')
    await page.getByLabel('Sign-in link of mira').waitFor()
    await picture('people-link')
    await takeLink()
    expect((await people()).map(({ name }) => name)).toEqual(['mira'])

    await button('New administrator').click()
    await dialog().getByLabel('Name').fill('mira')
    await button('Make the administrator').click()
    await dialog().getByText('The name is taken. Choose another.').waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect(await people()).toHaveLength(1)
  })

  test('assigns a project by its box, after the password; without it the box goes back', async () => {
    const { page, picture } = visitor
    const box = page.getByLabel('demo', { exact: true })
    bridge.clock.advance(11 * 60)
    await box.click()
    await dialog().getByText('This action needs your password again.').waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => box.isEnabled()).toBe(true)
    expect(await box.isChecked()).toBe(false)
    expect((await people())[0]?.project_ids).toEqual([])
    const next = page.getByText('mira sees no project. Tick the projects that mira may manage.')
    await next.waitFor()
    await box.click()
    await dialog().getByLabel('Password').fill(ownerPassword)
    await dialog().getByRole('button', { name: 'Confirm' }).click()
    await expect.poll(() => box.isChecked()).toBe(true)
    expect(await next.count()).toBe(0)
    await page.getByText('mira manages demo.').waitFor()
    await button('Undo').click()
    await expect.poll(() => box.isChecked()).toBe(false)
    expect((await people())[0]?.project_ids).toEqual([])
    await next.waitFor()
    await box.click()
    await expect.poll(() => box.isChecked()).toBe(true)
    expect((await people())[0]?.project_ids).toEqual([bridge.project.id])
    await picture('people')
  })

  test('makes new links, disables and enables, each after the password', async () => {
    bridge.clock.advance(11 * 60)
    await button('New link for mira').click()
    await button('Make the link').click()
    await confirm('Make the link')
    await takeLink()
    bridge.clock.advance(11 * 60)
    await button('Disable mira').click()
    await dialog().getByRole('button', { name: 'Disable mira' }).click()
    await confirm('Disable mira')
    await button('Enable mira').waitFor()
    expect((await people())[0]?.state).toBe('disabled')
    bridge.clock.advance(11 * 60)
    await button('Enable mira').click()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect((await people())[0]?.state).toBe('disabled')
    await button('Enable mira').click()
    await dialog().getByLabel('Password').fill(ownerPassword)
    await dialog().getByRole('button', { name: 'Confirm' }).click()
    await button('Disable mira').waitFor()
    await button('New link for mira').click()
    await button('Make the link').click()
    await takeLink()
    expect(visitor.faults).toEqual([])
  })

  test('shows an administrator the assigned project only, and says which screens are for the owner', async () => {
    const mira = await chromium.visitor(bridge.url)
    const { page, picture } = mira
    await page.goto(links[0] ?? '')
    await page.getByText('The link was used or is too old.').waitFor()
    await page.goto(links.at(-1) ?? '')
    await page.getByText('You signed in with a link, which works once.').waitFor()
    await button('Change password…', mira).click()
    await page.getByRole('dialog').getByLabel('New password').fill('the password of mira')
    await button('Change the password', mira).click()
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await page.getByLabel('Name').fill('mira')
    await page.getByLabel('Password').fill('the password of mira')
    await button('Sign in', mira).click()
    await page.getByRole('link', { name: 'demo' }).waitFor()
    expect(await page.getByText('not for mira').count()).toBe(0)
    for (const [path, name] of [
      ['/node', 'Node'],
      ['/people', 'People'],
      ['/audit', 'Audit of the node'],
    ] as const) {
      await page.goto(`${bridge.url}${path}`)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await page.getByText('Only the owner of the node can open this.').waitFor()
      expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0)
    }
    await picture('owner-only')
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/audit`)
    await page.locator('.records > li').first().waitFor()
    await page.goto(`${bridge.url}/projects/${other.id}/audit`)
    await page.getByText('It does not exist, or it is not yours.').first().waitFor()
    expect(await page.locator('.records > li').count()).toBe(0)
    expect(mira.faults).toEqual([])

    // The same browser then belongs to the owner, and the tab of mira shows nothing of before.
    const tab = await page.context().newPage()
    await page.goto(`${bridge.url}/settings`)
    await page.getByText('Administrator of projects').waitFor()
    await tab.goto(`${bridge.url}/settings`)
    await tab.getByRole('button', { name: 'Sign out' }).click()
    await tab.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await signIn(tab, bridge.url)
    await page.getByText('Owner of the node').waitFor()
    await mira.close()
  })

  test('tells times by its own clock, also to a browser whose clock is two hours wrong', async () => {
    const wrong = await chromium.visitor(bridge.url)
    await wrong.page.clock.setSystemTime(bridge.clock().getTime() + 2 * 3_600_000)
    await signIn(wrong.page, bridge.url, `/projects/${bridge.project.id}`)
    await wrong.page.getByRole('rowheader', { name: 'ada' }).waitFor()
    expect(await wrong.page.getByText('Unavailable').count()).toBe(0)
    await wrong.page.goto(`${bridge.url}/node`)
    const own = wrong.page.locator('.card').first()
    await own.getByText(/^Last sample/).waitFor()
    expect(await own.getByText(/ h ago| d ago/).count()).toBe(0)
    await wrong.page.goto(`${bridge.url}/projects/${bridge.project.id}/audit`)
    await wrong.page.locator('.records > li').first().waitFor()
    await button('Last hour', wrong).click()
    await expect.poll(() => new URL(wrong.page.url()).searchParams.has('since')).toBe(true)
    const since = Date.parse(new URL(wrong.page.url()).searchParams.get('since') ?? '')
    expect(Math.abs(bridge.clock().getTime() - 3_600_000 - since)).toBeLessThan(90_000)
    expect(wrong.faults).toEqual([])
    await wrong.close()
  })

  test('hears nothing from a page that nobody has touched for an hour, unless it keeps watching', async () => {
    const idle = await chromium.visitor(bridge.url)
    const { page, picture } = idle
    await page.clock.install()
    await signIn(page, bridge.url, '/node')
    await page.getByText('Open: the node takes new data.').waitFor()
    await page.clock.fastForward(3_600_001)
    await page.getByText('Paused: nothing was touched for an hour.').waitFor()
    await picture('paused')
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.clock.runFor(60_000)
    expect(requests).toEqual([])
    await button('Resume', idle).waitFor()
    await page.mouse.move(300, 300)
    await page.getByText('Paused: nothing was touched for an hour.').waitFor({ state: 'detached' })
    await expect.poll(() => requests.length).toBeGreaterThan(0)

    await page.goto(`${bridge.url}/settings`)
    await page.getByLabel('Keep watching').check()
    await page.goto(`${bridge.url}/node`)
    await page.getByText('Open: the node takes new data.').waitFor()
    await page.clock.fastForward(3_600_001)
    requests.length = 0
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return requests.length
      })
      .toBeGreaterThan(0)
    expect(await page.getByText('Paused:').count()).toBe(0)
    await idle.close()
  })
})

inChromium('a node whose disk is full', () => {
  let bridge: TestBridge
  let chromium: Chromium

  beforeAll(async () => {
    // No disk has room for such a reserve, so the node is full from its start.
    const settings = { reserve_bytes: String(2 ** 50) }
    ;[bridge, chromium] = await Promise.all([startBridge({ settings }), startChromium()])
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  test('is announced on every screen, with what still works', async () => {
    const { page, picture } = await chromium.visitor(bridge.url)
    const { ada, project } = bridge
    const band = page.getByText('The disk of the node is full.', { exact: true })
    // The node measures its disk every few seconds.
    const isFull = async () => {
      const ready = (await (await fetch(`${bridge.url}/api/ready`)).json()) as {
        checks: { storage: boolean }
      }
      return !ready.checks.storage
    }
    await expect.poll(isFull).toBe(true)
    await signIn(page, bridge.url, `/projects/${project.id}`)
    await band.waitFor()
    await page.goto(`${bridge.url}/node`)
    await page.getByText('Full: the node refuses new data until there is room.').waitFor()
    await page.getByText('The disk is full', { exact: true }).waitFor()
    await band.waitFor()
    await picture('full')
    await page.goto(`${bridge.url}/settings`)
    await band.waitFor()
    await page.getByText('Reading, acknowledging').waitFor()
    // The promise of the band: the sign-in is renewed, and a request that needs room is refused.
    const refused = await bridge.owner.call({
      target: `/api/admin/projects/${project.id}/messages`,
      body: { recipient_agent_id: ada.id, body: 'x' },
      key: 'a-key-of-this-test',
    })
    expect(refused.json).toMatchObject({ error: 'storage_full' })
  })
})

inChromium('a node whose object store does not answer', () => {
  let store: ObjectStore
  let bridge: TestBridge
  let chromium: Chromium

  beforeAll(async () => {
    store = await startObjectStore()
    store.faults = { before: () => ({ status: 500, code: 'InternalError' }) }
    const settings = store.settings()
    ;[bridge, chromium] = await Promise.all([
      startBridge({ settings, environment: testKeys }),
      startChromium(),
    ])
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
    await store.close()
  })

  test('says so on every screen, and not that the disk is full', async () => {
    const { page } = await chromium.visitor(bridge.url)
    await signIn(page, bridge.url, `/projects/${bridge.project.id}`)
    await page.getByText('The object store of packages does not answer.', { exact: true }).waitFor()
    await page.goto(`${bridge.url}/node`)
    await page.getByText('The object store of packages does not answer', { exact: true }).waitFor()
    expect(await page.getByText('The disk of the node is full.').count()).toBe(0)
    // The promise of the band: messages still work.
    const sent = await bridge.ada.send(await bridge.ada.conversationWith(bridge.ben.id), bridge.ben.id, 'x')
    expect(sent.id).toEqual(expect.any(String))
  })
})
