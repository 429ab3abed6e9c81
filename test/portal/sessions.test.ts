/** Signing in and out on the owner's page, and a sign-in that ends while somebody writes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerName, ownerPassword } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'

inChromium('a session in the browser', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await bridge.owner.ok({ target: '/api/admin/administrators', body: { name: 'mira' } })
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const heading = (name: string) => visitor.page.getByRole('heading', { level: 1, name }).waitFor()
  const button = (name: string) => visitor.page.getByRole('button', { name, exact: true })

  test('begins over the address that was asked for', async () => {
    const { page, picture } = visitor
    await page.goto(`${bridge.url}/projects/${bridge.project.id}`)
    await heading('Sign in')
    await page.getByLabel('Name').fill(ownerName)
    await page.getByLabel('Password').fill('not the password')
    await button('Sign in').click()
    await page.getByText('Name or password is wrong.').waitFor()
    await picture('sign-in')
    await page.getByLabel('Password').fill(ownerPassword)
    await button('Sign in').click()
    await heading('demo')
    expect(page.url()).toBe(`${bridge.url}/projects/${bridge.project.id}`)
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  test('that ends is renewed by a dialog, and the message then goes once', async () => {
    const { page, picture } = visitor
    // Else the wait for events notices the end first, and its dialog covers the button.
    await page.route('**/events*', () => {})
    const still = stillness(page)
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/conversations`)
    await page.getByLabel('Message').fill('written before the end')
    // So does a reading of the screen.
    await still()
    bridge.clock.advance(61 * 60)
    await button('Send').click()
    await page.getByRole('dialog').waitFor()
    await picture('sign-in-again')
    await page.getByRole('dialog').getByLabel('Password').fill(ownerPassword)
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
    await heading('ada and the owner')
    await expect.poll(() => page.getByText('written before the end').count()).toBe(1)
    expect(visitor.faults).toEqual([])
    await page.unroute('**/events*')
  })

  test('keeps the question while its answer is under way', async () => {
    const { page } = visitor
    await page.goto(`${bridge.url}/people`)
    const dialog = page.getByRole('dialog')
    const box = page.getByLabel('demo', { exact: true })
    bridge.clock.advance(11 * 60)
    const isHeld = Promise.withResolvers<void>()
    await page.route('**/session/confirm', async (route) => {
      await isHeld.promise
      await route.continue()
    })
    await box.click()
    await dialog.getByLabel('Password').fill(ownerPassword)
    const sent = page.waitForRequest('**/session/confirm')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await sent
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await dialog.count()).toBe(1)
    isHeld.resolve()
    await expect.poll(() => box.isChecked()).toBe(true)
    await page.unroute('**/session/confirm')
    await box.click()
    await expect.poll(() => box.isChecked()).toBe(false)
  })

  test('that ends behind the question for the password is renewed by it', async () => {
    const { page } = visitor
    await page.goto(`${bridge.url}/people`)
    const box = page.getByLabel('demo', { exact: true })
    const dialog = page.getByRole('dialog')
    bridge.clock.advance(11 * 60)
    await box.click()
    await dialog.getByLabel('Password').fill(ownerPassword)
    bridge.clock.advance(61 * 60)
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await dialog.getByRole('heading', { name: 'Sign in again' }).waitFor()
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await expect.poll(() => box.isChecked()).toBe(true)
    expect(visitor.faults).toEqual([])
  })

  test('goes on for a request that crosses a confirmation of the password', async () => {
    const { page } = visitor
    const { ada, ben, project } = bridge
    await page.goto(`${bridge.url}/projects/${project.id}/agents/${ada.id}`)
    bridge.clock.advance(601)
    await button('Take over…').click()
    const dialog = page.getByRole('dialog')
    await button('End the session').click()
    await dialog.getByLabel('Password', { exact: true }).fill(ownerPassword)
    const [before] = await page.context().cookies()
    const cookie = `${before?.name}=${before?.value}`
    const isConfirmed = Promise.withResolvers<void>()
    const isRefused = Promise.withResolvers<void>()
    const isAsked = Promise.withResolvers<void>()
    // The node has confirmed before it gets a reading with the old cookie, and refuses that before it answers.
    await page.route('**/session/confirm', async (route) => {
      const response = await route.fetch()
      isConfirmed.resolve()
      await isRefused.promise
      await route.fulfill({ response })
    })
    const refusals: number[] = []
    const snapshot = `${bridge.url}/api/admin/projects/${project.id}`
    await page.route(snapshot, async (route) => {
      if (refusals.length > 0) return route.continue()
      isAsked.resolve()
      await isConfirmed.promise
      const response = await route.fetch({ headers: { ...route.request().headers(), cookie } })
      refusals.push(response.status())
      await route.fulfill({ response })
    })
    // A reading that began before the route was set answers 200.
    const read = page.waitForResponse((each) => each.url() === snapshot && each.status() === 401)
    const repeated = page.waitForResponse(
      (each) => each.url() === snapshot && each.ok() && refusals.length > 0,
    )
    // The reading begins first: a wait that the confirmation ends does not read.
    await ada.send(await ada.conversationWith(ben.id), ben.id, 'during a confirmation')
    await isAsked.promise
    await button('End the session').click()
    await (await read).finished()
    isRefused.resolve()
    await page.getByRole('textbox', { name: 'Grant for the next session of ada' }).waitFor()
    await repeated
    expect(refusals).toEqual([401])
    expect(await dialog.count()).toBe(0)
    expect(visitor.faults).toEqual([])
    await page.unrouteAll()
  })

  test('ends with the button, and the back button shows no data', async () => {
    const { page } = visitor
    await page.goto(`${bridge.url}/projects/${bridge.project.id}`)
    await heading('demo')
    await button('Sign out').click()
    await heading('Sign in')
    await page.goBack()
    await heading('Sign in')
    expect(await page.getByText('demo').count()).toBe(0)
    expect(visitor.faults).toEqual([])
  })

  test('that has ended is left with the button, without a password', async () => {
    const { page } = visitor
    await page.getByLabel('Name').fill(ownerName)
    await page.getByLabel('Password').fill(ownerPassword)
    await button('Sign in').click()
    await button('Sign out').waitFor()
    // Else the wait for events notices the end first, and its dialog covers the button.
    await page.route('**/events*', () => {})
    const still = stillness(page)
    await page.goto(`${bridge.url}/projects/${bridge.project.id}`)
    await heading('demo')
    await still()
    bridge.clock.advance(61 * 60)
    await button('Sign out').click()
    await heading('Sign in')
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(visitor.faults).toEqual([])
    await page.unrouteAll()
  })

  test('cannot begin at another spelling of the address', async () => {
    const other = bridge.url.replace('127.0.0.1', 'localhost')
    const elsewhere = await chromium.visitor(other)
    await elsewhere.page.goto(`${other}/sign-in`)
    await elsewhere.page.getByRole('heading', { name: 'This is another address of the node' }).waitFor()
    await elsewhere.picture('wrong-origin')
    expect(await elsewhere.page.getByRole('link', { name: `Go to ${bridge.url}` }).getAttribute('href')).toBe(
      `${bridge.url}/sign-in`,
    )
    await elsewhere.close()
  })

  test('does not begin with a set-up link that was used', async () => {
    const fresh = await chromium.visitor(bridge.url)
    await fresh.page.goto(`${bridge.url}/setup`)
    await fresh.page.getByText('agent-bridge server setup-link --data …').waitFor()
    await fresh.page.goto(`${bridge.url}/sign-in#${'a'.repeat(43)}`)
    await fresh.page.getByText('The link was used or is too old.').waitFor()
    expect(fresh.page.url()).toBe(`${bridge.url}/sign-in`)
    expect(fresh.faults).toEqual([])
    await fresh.close()
  })
})
