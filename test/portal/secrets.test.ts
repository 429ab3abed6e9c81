/** Each secret that the page shows or takes is nowhere in the browser after its use. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueOwnerLink } from '../../server/host/init.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { codeOf, ownerName, ownerPassword } from '../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'
import { type Watched, watch } from './traces.ts'

inChromium('after its use', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let watched: Watched

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    watched = await watch(visitor)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const button = (name: string | RegExp) => visitor.page.getByRole('button', { name, exact: true })
  const dialog = () => visitor.page.getByRole('dialog')
  const agentPage = async () => {
    await visitor.page.goto(`${bridge.url}/projects/${bridge.project.id}/agents/${bridge.ada.id}`)
    await visitor.page.getByRole('heading', { level: 1, name: 'ada' }).waitFor()
  }
  /** Opens a dialog that wants the password, and confirms. */
  const act = async (opener: string, verb: string) => {
    bridge.clock.advance(601)
    await bridge.owner.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
    await button(opener).click()
    await dialog().getByRole('button', { name: verb, exact: true }).click()
    await dialog().getByLabel('Password', { exact: true }).fill(ownerPassword)
    await dialog().getByRole('button', { name: verb, exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
  }
  /** Reads a secret that is shown once, then closes it without a copy. */
  const shownOnce = async (label: string): Promise<string> => {
    const field = visitor.page.getByRole('textbox', { name: label })
    const secret = await field.inputValue()
    expect(secret).not.toBe('')
    await button('Close').click()
    await button('Close without a copy').click()
    await field.waitFor({ state: 'detached' })
    return secret
  }

  test('the password of a sign-in is nowhere, right or wrong', async () => {
    expect(await watched.placesOf(ownerPassword)).toEqual([])
    expect(watched.bodiesWith(ownerPassword)).toHaveLength(1)
    const { page } = visitor
    await button('Sign out').click()
    await page.getByLabel('Name').fill(ownerName)
    await page.getByLabel('Password', { exact: true }).fill('a wrong one, number 1')
    await button('Sign in').click()
    await page.getByText('Name or password is wrong.').waitFor()
    await page.getByLabel('Password', { exact: true }).fill(ownerPassword)
    await button('Sign in').click()
    await button('Sign out').waitFor()
    for (const each of [ownerPassword, 'a wrong one, number 1'])
      expect([each, await watched.placesOf(each)]).toEqual([each, []])
  })

  test('the code of a prompt is nowhere, and neither is the password that made it', async () => {
    await agentPage()
    await act('New prompt…', 'Make the prompt')
    const code = codeOf(await shownOnce('Prompt of ada'))
    expect(await watched.placesOf(code)).toEqual([])
    expect(await watched.placesOf(ownerPassword)).toEqual([])
  })

  test('a legacy credential is nowhere', async () => {
    await agentPage()
    await visitor.page.getByText('Compatibility with older clients').click()
    await act('Issue a legacy credential…', 'Issue the credential')
    const [, secret = ''] = (await shownOnce('Legacy secret of ada')).split('.')
    expect(secret.length).toBeGreaterThan(20)
    expect(await watched.placesOf(secret)).toEqual([])
  })

  test('the grant of a takeover is nowhere', async () => {
    await agentPage()
    await act('Take over…', 'End the session')
    expect(await watched.placesOf(await shownOnce('Grant for the next session of ada'))).toEqual([])
  })

  test('the link of an administrator is nowhere, and neither is its token', async () => {
    await visitor.page.goto(`${bridge.url}/people`)
    await button('New administrator').click()
    await dialog().getByLabel('Name').fill('mira')
    await dialog().getByRole('button', { name: 'Make the administrator' }).click()
    const link = await shownOnce('Sign-in link of mira')
    expect(await watched.placesOf(new URL(link).hash.slice(1))).toEqual([])
  })

  test.each(['Prompt of ada', 'Legacy secret of ada', 'Grant for the next session of ada'])(
    '%s is nowhere after its screen was left without a word',
    async (label) => {
      const { page } = visitor
      await agentPage()
      if (label.startsWith('Prompt')) await act('New prompt…', 'Make the prompt')
      else if (label.startsWith('Grant')) await act('Take over…', 'End the session')
      else {
        await page.getByText('Compatibility with older clients').click()
        await act('Issue a legacy credential…', 'Issue the credential')
      }
      const shown = await page.getByRole('textbox', { name: label }).inputValue()
      const secret = label.startsWith('Prompt') ? codeOf(shown) : shown
      await button(/^(Copy ada's prompt|Copy the (secret|grant))$/).click()
      await button(/^(Copied|Selected: press Ctrl.C)$/).waitFor()
      await page.getByRole('navigation').getByRole('link', { name: 'Tasks', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor()
      expect(await watched.placesOf(secret)).toEqual([])
    },
  )

  test('a link that signs in is nowhere, and its token was sent once', async () => {
    const token = new URL(await issueOwnerLink(testConfig(bridge.data))).hash.slice(1)
    const guest = await chromium.visitor(bridge.url)
    const guarded = await watch(guest)
    await guest.page.goto(`${bridge.url}/sign-in#${token}`)
    await guest.page.getByRole('button', { name: 'Sign out' }).waitFor()
    expect(guarded.bodiesWith(token)).toHaveLength(1)
    expect(await guarded.placesOf(token)).toEqual([])
    await guest.close()
  })

  test('a private key that was pasted in place of the public one is not sent, and goes with its dialog', async () => {
    const key = `AGE-SECRET-KEY-1${'Q'.repeat(46)}`
    await agentPage()
    await button('Set…').click()
    const field = dialog().getByLabel('New public key')
    await field.fill(key)
    await dialog().getByText('This is a private key. It was not sent.').waitFor()
    expect(await field.inputValue()).toBe('')
    await dialog().getByRole('button', { name: 'Set the key' }).click()
    await field.and(visitor.page.locator(':invalid')).waitFor()
    expect(await watched.placesOf(key)).toEqual([])
    await visitor.page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    expect(watched.bodiesWith(key)).toEqual([])
  })

  test('a new password is nowhere, also if its dialog was cancelled', async () => {
    const { page } = visitor
    await page.goto(`${bridge.url}/settings`)
    const open = async (password: string) => {
      await button('Change password…').click()
      await dialog().getByLabel('New password').fill(password)
    }
    await open('the password of a cancelled act')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    expect(await watched.placesOf('the password of a cancelled act')).toEqual([])
    await open('the password after the change')
    await dialog().getByRole('button', { name: 'Change the password' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await watched.placesOf('the password after the change')).toEqual([])
    expect(visitor.faults).toEqual([])
  })

  describe('on a new node', () => {
    let server: ServerProcess
    beforeAll(async () => {
      server = await startServerProcess()
    })
    afterAll(() => server.close())

    test('the set-up link and the first password are nowhere', async () => {
      const first = await chromium.visitor(server.url)
      const guarded = await watch(first)
      const { page } = first
      const token = new URL(server.setupLink).hash.slice(1)
      await page.goto(server.setupLink)
      await page.getByLabel('Your name').fill(ownerName)
      await page.getByLabel('Password', { exact: true }).fill(ownerPassword)
      await page.getByRole('button', { name: 'Set up', exact: true }).click()
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      for (const secret of [token, ownerPassword]) {
        expect(guarded.bodiesWith(secret)).toHaveLength(1)
        expect([secret, await guarded.placesOf(secret)]).toEqual([secret, []])
      }
      expect(first.faults).toEqual([])
      await first.close()
    })
  })
})
