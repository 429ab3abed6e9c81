/** Secrets leave no trace in the browser, no other site reaches the page, and no clock of the browser makes it lie. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueOwnerLink } from '../../server/host/init.ts'
import { enroll } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { codeOf, ownerName, ownerPassword } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'
import { memory, traces } from './traces.ts'

inChromium('the page', () => {
  let bridge: TestBridge
  let chromium: Chromium

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const overview = () => `/projects/${bridge.project.id}`

  describe('with a code on the screen', () => {
    let visitor: Visitor
    let code: string
    const sent: string[] = []
    const logged: string[] = []

    beforeAll(async () => {
      visitor = await chromium.visitor(bridge.url)
      const { page } = visitor
      page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
      page.on('console', (message) => logged.push(message.text()))
      await signIn(page, bridge.url, `/?project=${bridge.project.id}`)
      const name = page.getByLabel('First agent')
      await name.fill('cleo')
      await name.press('Enter')
      await page.getByRole('heading', { name: 'Give the agent its prompt' }).waitFor()
      code = codeOf(await page.getByRole('textbox').inputValue())
    })
    afterAll(() => visitor.close())

    test('keeps it on this screen only', async () => {
      const [document = '', ...others] = await traces(visitor)
      expect(document).toContain(code)
      expect(others.join()).not.toContain(code)
      expect([...sent, ...logged].filter((each) => each.includes(code))).toEqual([])
    })

    test('drops it when it is used', async () => {
      await (await enroll(bridge.url, code, bridge.clock)).startSession()
      await visitor.page.getByText(/^ ?Enrolled, /).waitFor()
      await expect.poll(async () => (await traces(visitor)).join()).not.toContain(code)
    })

    test('has no trace of it on any screen, nor in its memory', async () => {
      const { page } = visitor
      await page.getByRole('link', { name: /open the project$/i }).click()
      const still = stillness(page)
      for (const name of ['Agents', 'Conversations', 'Tasks', 'Transfers', 'Pairs', 'Audit', 'Overview']) {
        await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
        await still()
        expect((await traces(visitor)).join()).not.toContain(code)
      }
      expect([...sent, ...logged].filter((each) => each.includes(code))).toEqual([])
      expect(await memory(visitor)).toContain('Give the agent its prompt')
      expect(await memory(visitor)).not.toContain(code)
      expect(visitor.faults).toEqual([])
    })
  })

  test('takes the token of a link out of its address before it sends anything, and sends it once', async () => {
    const link = await issueOwnerLink(testConfig(bridge.data))
    const token = new URL(link).hash.slice(1)
    const visitor = await chromium.visitor(bridge.url)
    const { page } = visitor
    const requests: { readonly at: string; readonly url: string; readonly body: string }[] = []
    page.on('request', (request) =>
      requests.push({ at: page.url(), url: request.url(), body: request.postData() ?? '' }),
    )
    await page.goto(`${bridge.url}/sign-in#${token}`)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    // The owner has a password, so the link leads to the projects.
    await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
    expect(await page.getByRole('link', { name: 'Set a password' }).count()).toBe(1)
    const later = requests.filter(({ url }) => url.includes('/api/'))
    expect(later.length).toBeGreaterThan(1)
    expect(later.filter(({ at, url }) => `${at} ${url}`.includes(token))).toEqual([])
    expect(requests.filter(({ body }) => body.includes(token))).toHaveLength(1)
    expect((await traces(visitor)).join()).not.toContain(token)
    expect(visitor.faults).toEqual([])
    await visitor.close()
  })

  describe('at another site', () => {
    let site: Server
    let origin: string

    beforeAll(async () => {
      site = createServer((_request, response) =>
        response.setHeader('content-type', 'text/html').end('<p>elsewhere'),
      )
      await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
      origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    })
    afterAll(() => new Promise((resolve) => site.close(resolve)))

    test('is shown in no frame', async () => {
      const { page, close } = await chromium.visitor(origin)
      await page.goto(origin)
      await page.evaluate(
        `new Promise((done) => { const frame = document.createElement('iframe'); frame.onload = done
          frame.src = '${bridge.url}/sign-in'; document.body.append(frame) })`,
      )
      await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/)
      await close()
    })

    test('is opened without a way back to its opener', async () => {
      const { page, close } = await chromium.visitor(origin)
      await page.goto(origin)
      const opened = page.waitForEvent('popup')
      await page.evaluate(`void (window.opened = window.open('${bridge.url}/sign-in'))`)
      const popup = await opened
      await popup.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(await popup.evaluate('window.opener')).toBe(null)
      expect(await page.evaluate('window.opened.closed')).toBe(true)
      await close()
    })
  })

  test('at another name of the same node has no sign-in, and cannot begin one', async () => {
    const { page, close } = await chromium.visitor(bridge.url)
    await signIn(page, bridge.url)
    // A site whose name leads to the node's address, as DNS rebinding makes one.
    await page.goto(`${bridge.url.replace('127.0.0.1', 'rebound.localhost')}${overview()}`)
    await page.getByRole('heading', { name: 'This is another address of the node' }).waitFor()
    const statuses = await page.evaluate<number[]>(`Promise.all([
      fetch('/api/admin/projects/${bridge.project.id}'),
      fetch('/api/admin/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: ${JSON.stringify(JSON.stringify({ name: ownerName, password: ownerPassword }))},
      }),
    ]).then((replies) => replies.map(({ status }) => status))`)
    expect(statuses).toEqual([401, 403])
    expect(await page.getByText(bridge.project.name, { exact: true }).count()).toBe(0)
    await close()
  })

  test('that slept for a minute says Unavailable before the node answers again', async () => {
    const { page, faults, close } = await chromium.visitor(bridge.url)
    await page.clock.install()
    await signIn(page, bridge.url, overview())
    await page.getByRole('rowheader', { name: 'ada' }).waitFor()
    const unavailable = page.getByRole('cell', { name: 'Unavailable' })
    expect(await unavailable.count()).toBe(0)
    // From here on no answer arrives, so that only the clock can show it.
    await page.route('**/api/**', () => {})
    await page.clock.fastForward(60_000)
    await expect.poll(() => unavailable.count()).toBeGreaterThan(3)
    await page.unroute('**/api/**')
    expect(faults).toEqual([])
    await close()
  })

  test.each([-2, 2])(
    'in a browser whose clock is wrong by %i hours tells the times of the node',
    async (hours) => {
      const { page, faults, close } = await chromium.visitor(bridge.url)
      await page.clock.install({ time: bridge.clock().getTime() + hours * 3_600_000 })
      await bridge.ada.ok({ target: '/api/v1/peers' })
      await signIn(page, bridge.url, overview())
      const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'ada' }) })
      await row.waitFor()
      for (let second = 0; second < 3; second += 1) {
        expect(await row.innerText()).toMatch(/\byes\b[\s\S]*(now|\d+ s ago)/)
        expect(await page.getByText('Unavailable').count()).toBe(0)
        await page.clock.runFor(1000)
      }
      expect(faults).toEqual([])
      await close()
    },
  )

  test('sends a message once if its answer is lost', async () => {
    const { ada, ben, project } = bridge
    const { page, close } = await chromium.visitor(bridge.url)
    await signIn(page, bridge.url)
    const conversation = await ada.conversationWith(ben.id)
    await page.goto(`${bridge.url}${overview()}/conversations/${conversation}`)
    let lost = 0
    await page.route(`**/api/admin/projects/${project.id}/messages`, async (route) => {
      const reply = await route.fetch()
      if (lost > 0) return route.fulfill({ response: reply })
      lost += 1
      return route.abort('connectionreset')
    })
    await page.getByLabel('Message').fill('only once')
    const send = page.getByRole('button', { name: 'Send', exact: true })
    await send.click()
    await expect
      .poll(async () => {
        if ((await page.getByLabel('Message').inputValue()) !== '' && (await send.isEnabled()))
          await send.click()
        return page.getByLabel('Message').inputValue()
      })
      .toBe('')
    const { messages } = await ada.ok<{ messages: { body: string }[] }>({
      target: `/api/v1/conversations/${conversation}/messages`,
    })
    expect([lost, messages.filter(({ body }) => body === 'only once').length]).toEqual([1, 1])
    await close()
  })
})
