/** The page of one agent: every act with its refusal, secrets that are shown once, and two owners at a time. */
import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enroll } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { codeOf, ownerPassword } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'

interface Kept {
  readonly id: string
}

inChromium('the page of an agent', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const path = (end = '') => `/api/admin/projects/${bridge.project.id}${end}`
  const dialog = (page = visitor.page) => page.getByRole('dialog')
  const section = (name: string, page = visitor.page) => page.getByRole('region', { name, exact: true })
  const open = async (id: string, page = visitor.page) => {
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/agents/${id}`)
    await section('Presence', page).waitFor()
  }
  const list = async <T extends Kept>(name: string, agent: string): Promise<readonly T[]> =>
    (await bridge.owner.ok<Record<string, T[]>>({ target: path(`/${name}?agent_id=${agent}`) }))[name] ?? []

  test('shows presence, the session and what the audit recorded', async () => {
    const { page, faults } = visitor
    await open(bridge.ada.id)
    await section('Presence').getByText('1 of test 1, began').waitFor()
    await section('Presence').getByText('1 session start').waitFor()
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('ada')
    expect(faults).toEqual([])
  })

  describe('instructions', () => {
    const text = (page = visitor.page) => page.getByLabel('Work instructions')
    const save = (page = visitor.page) => section('Instructions', page).getByRole('button', { name: 'Save' })
    const given = async () =>
      (await bridge.ada.ok<{ instructions: string }>({ target: '/api/v1/bootstrap' })).instructions

    test('are saved as the agent gets them, with the difference marked before', async () => {
      const { page } = visitor
      await open(bridge.ada.id)
      expect(await save().isDisabled()).toBe(true)
      await text().fill('Review every change.')
      expect(await page.locator('ins').innerText()).toContain('Review every change.')
      await save().click()
      await page.getByText(/^Saved\. The agent reads/).waitFor()
      await page.locator('ins').waitFor({ state: 'detached' })
      expect(await given()).toContain('Review every change.')
    })

    test('that are too long cannot be saved', async () => {
      await text().fill('x'.repeat(32 * 1024 + 7))
      await section('Instructions').getByText('7 bytes too long').waitFor()
      expect(await save().isDisabled()).toBe(true)
      await section('Instructions').getByRole('button', { name: 'Undo my changes' }).click()
      expect(await text().inputValue()).toBe('Review every change.')
    })

    test('of two owners at a time are both shown to the second, who chooses', async () => {
      const other = await chromium.visitor(bridge.url)
      await signIn(other.page, bridge.url)
      await open(bridge.ada.id, other.page)
      await text(other.page).fill('From the second.')
      await text().fill('From the first.')
      await save().click()
      const conflict = other.page.getByRole('alert').filter({ hasText: 'Somebody else saved' })
      await conflict.getByText('From the first.').waitFor()
      await conflict.getByText('From the second.').waitFor()
      expect(await save(other.page).isDisabled()).toBe(true)
      expect(await given()).toContain('From the first.')
      await conflict.getByRole('button', { name: 'Keep mine' }).click()
      await save(other.page).click()
      // The first browser has no change of its own, so it follows.
      await expect.poll(() => text().inputValue()).toBe('From the second.')
      expect(await given()).not.toContain('From the first.')
      await other.close()
    })

    test('are not overwritten if the other version is not on the screen yet', async () => {
      const { page, close } = await chromium.visitor(bridge.url)
      await signIn(page, bridge.url)
      const still = stillness(page)
      await open(bridge.ada.id, page)
      await still()
      await text(page).fill('Too late.')
      // The page hears nothing new by itself.
      await page.route('**/events*', (route) => route.abort())
      await page.route(`**${path()}`, (route) => route.abort())
      const target = path(`/agents/${bridge.ada.id}/instructions`)
      await bridge.owner.ok({ target, body: { instructions: 'Just before.' } })
      await save(page).click()
      await page.getByRole('alert').getByText('Just before.').waitFor()
      expect(await given()).toContain('Just before.')
      await page.getByRole('button', { name: 'Take theirs' }).click()
      expect(await text(page).inputValue()).toBe('Just before.')
      await close()
    })
  })

  describe('an act that needs the password', () => {
    let agent: Kept
    beforeAll(async () => {
      agent = await bridge.owner.createAgent(bridge.project.id, 'cleo')
    })

    /** Lets the last confirmation become too old for the node, though not for the page. */
    const grow = async () => {
      bridge.clock.advance(601)
      await bridge.owner.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
    }
    const secret = (page: Page, name: string) => page.getByRole('textbox', { name })

    /** Runs an act: first with Cancel, then with a wrong and the right password. */
    async function confirmed(place: string, label: string, verb: string, fill?: () => Promise<unknown>) {
      await grow()
      const opener = section(place).getByRole('button', { name: label })
      for (const isMeant of [false, true]) {
        await opener.click()
        await fill?.()
        await dialog().getByRole('button', { name: verb }).click()
        await dialog().getByLabel('Password').waitFor()
        if (isMeant) break
        await visitor.page.keyboard.press('Escape')
        await dialog().waitFor({ state: 'detached' })
        await expect.poll(() => visitor.page.locator(':focus').innerText()).toBe(label)
      }
      await dialog().getByLabel('Password').fill('not the password')
      await dialog().getByRole('button', { name: verb }).click()
      await dialog().getByText('The password is wrong.').waitFor()
      await dialog().getByLabel('Password').fill(ownerPassword)
      await dialog().getByRole('button', { name: verb }).dblclick()
      await dialog().waitFor({ state: 'detached' })
    }

    test('makes one prompt, which is shown once and follows its agent', async () => {
      const { page, picture, faults } = visitor
      await open(agent.id)
      await section('Enrolment').getByText('cleo has never been here.').waitFor()
      await confirmed('Enrolment', 'New prompt…', 'Make the prompt')
      expect(await list('enrollments', agent.id)).toHaveLength(1)
      const prompt = await secret(page, 'Prompt of cleo').inputValue()
      const kept = await page.evaluate<string>(
        `JSON.stringify([location.href, document.title, history.state, {...localStorage}, {...sessionStorage}])`,
      )
      expect(kept).not.toContain(codeOf(prompt))
      await picture('agent-prompt')

      await section('Enrolment').getByRole('button', { name: 'Close' }).click()
      await section('Enrolment').getByText('You have not copied it').waitFor()
      const cleo = await enroll(bridge.url, codeOf(prompt), bridge.clock)
      await section('Enrolment')
        .getByText(/^ ?Enrolled, /)
        .waitFor()
      await secret(page, 'Prompt of cleo').waitFor({ state: 'detached' })
      await cleo.startSession()
      await section('Enrolment')
        .getByText(/^ ?Session started, /)
        .waitFor()
      await expect(enroll(bridge.url, codeOf(prompt), bridge.clock)).rejects.toThrow('enrollment_used')
      await section('Enrolment')
        .getByText(/^ ?The code was used a second time/)
        .waitFor()
      await picture('agent-reused')
      expect(faults).toEqual([])
    })

    test('issues one legacy secret, which can be closed after a warning', async () => {
      const { page } = visitor
      await page.getByText('Compatibility with older clients').click()
      await confirmed('Credentials', 'Issue a legacy credential…', 'Issue the credential')
      const credentials = await list<Kept & { binding: string }>('credentials', agent.id)
      const [legacy, ...more] = credentials.filter(({ binding }) => binding === 'legacy')
      expect(more).toEqual([])
      const shown = secret(page, 'Legacy secret of cleo')
      expect(await shown.inputValue()).toMatch(new RegExp(`^${legacy?.id}\\.`))
      await section('Credentials').getByRole('button', { name: 'Close' }).click()
      await section('Credentials').getByText('You have not copied it').waitFor()
      expect(await shown.count()).toBe(1)
      await section('Credentials').getByRole('button', { name: 'Close without a copy' }).click()
      await shown.waitFor({ state: 'detached' })
    })

    test('takes the session over once, with a grant that works once', async () => {
      const { page } = visitor
      await confirmed('Takeover', 'Take over…', 'End the session', () =>
        dialog().getByLabel('Reason').fill('stuck'),
      )
      const { audit } = await bridge.owner.ok<{ audit: { details: { reason: string } }[] }>({
        target: path(`/audit?kind=takeover.issued&subject_id=${agent.id}`),
      })
      expect(audit.map(({ details }) => details.reason)).toEqual(['stuck'])
      expect(await secret(page, 'Grant for the next session of cleo').inputValue()).not.toBe('')
      await section('Takeover').getByText(/ended/).waitFor()
    })

    test('sets the recipient key, with both fingerprints beside each other', async () => {
      const { page } = visitor
      const old = 'age1j4pr7fve4yw94r9zt3ddqehkz24ctpfmw5wkx6sc5j24yunuf4rqzq82q2'
      await bridge.owner.ok({
        target: path(`/agents/${agent.id}/recipient-key`),
        body: { recipient: old },
      })
      await section('Recipient key').getByText(old).waitFor()
      const next = 'age17xek8zgv3znh9r9j8znr064sn520ylfxxymas6f248fddqf7gvaq4a9vg3'
      await confirmed('Recipient key', 'Replace…', 'Replace the key', async () => {
        await dialog().getByLabel('New public key').fill(next)
        await dialog().getByText('SHA256:').nth(1).waitFor()
      })
      await section('Recipient key').getByText(next).waitFor()
      await section('Recipient key').getByRole('button', { name: 'Replace…' }).click()
      await dialog().getByLabel('New public key').fill('age1 not a key')
      await dialog().getByRole('button', { name: 'Replace the key' }).click()
      await dialog().locator('[aria-invalid=true]').waitFor()
      await page.keyboard.press('Escape')
    })
  })

  test('offers to revoke a prompt before the first snapshot has arrived', async () => {
    const { page } = visitor
    const { id } = await bridge.owner.createAgent(bridge.project.id, 'early')
    await bridge.owner.enrollmentCode(bridge.project.id, id)
    const isShown = Promise.withResolvers<void>()
    await page.route(`${bridge.url}${path()}`, async (route) => {
      await isShown.promise
      await route.continue()
    })
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/agents/${id}`)
    await section('Enrolment')
      .getByRole('button', { name: /^Revoke/ })
      .waitFor()
    isShown.resolve()
    await section('Presence').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
  })

  test('revokes a prompt and a credential after a sentence, and not after Cancel', async () => {
    const { page } = visitor
    const dan = await bridge.agent('dan')
    await bridge.owner.enrollmentCode(bridge.project.id, dan.id)
    await open(dan.id)
    const revoke = (place: string) => section(place).getByRole('button', { name: /^Revoke/ })
    await revoke('Credentials').click()
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Cancel')
    await page.keyboard.press('Enter')
    await dialog().waitFor({ state: 'detached' })
    expect((await dan.call({ target: '/api/v1/inbox' })).status).toBe(200)
    await revoke('Enrolment').click()
    await dialog().getByRole('button', { name: 'Revoke the prompt' }).click()
    await section('Enrolment').getByText('Revoked, made').waitFor()
    await revoke('Credentials').click()
    await dialog().getByRole('button', { name: 'Revoke the credential' }).click()
    await section('Credentials').getByText('dan has no credential that works.').waitFor()
    expect((await dan.call({ target: '/api/v1/inbox' })).status).toBe(401)
  })

  test('changes the profile with Undo, and refuses a name that is taken at its field', async () => {
    const { page, picture } = visitor
    const profile = section('Profile')
    await open(bridge.ben.id)
    await profile.getByLabel('Name', { exact: true }).fill('ada')
    await profile.getByLabel('Role').fill('reviewer')
    await profile.getByRole('button', { name: 'Save' }).click()
    await profile.getByText('The name is taken. Choose another.').waitFor()
    await profile.getByLabel('Name', { exact: true }).fill('eve')
    await profile.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'eve' }).waitFor()
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'ben' }).waitFor()
    await expect.poll(() => profile.getByLabel('Role').inputValue()).toBe('')
    await picture('agent')
  })

  test('pairs at once, and unpairs after a sentence', async () => {
    const { page } = visitor
    const pair = section('Pairs').getByRole('checkbox', { name: 'ben and ada' })
    await pair.click()
    await dialog().getByText('Open transfers between them are cancelled.').waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect(await pair.isChecked()).toBe(true)
    await pair.click()
    await dialog().getByRole('button', { name: 'Unpair them' }).click()
    await expect.poll(() => pair.isChecked()).toBe(false)
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/pairs`)
    const matrix = page.getByRole('checkbox', { name: 'ada and ben' })
    expect(await matrix.isChecked()).toBe(false)
    await matrix.click()
    await expect.poll(() => matrix.isChecked()).toBe(true)
    await visitor.picture('pairs')
  })

  test('disables after a sentence, and enables at once', async () => {
    const { page } = visitor
    await open(bridge.ben.id)
    await page.getByRole('button', { name: 'Disable…' }).click()
    await dialog().getByRole('button', { name: 'Disable ben' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    expect((await bridge.ben.call({ target: '/api/v1/inbox' })).json).toMatchObject({
      error: 'agent_disabled',
    })
    expect(await page.getByRole('button', { name: 'New prompt…' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Disable…' }).waitFor()
  })

  test('shows why a dialog could not act, inside of it', async () => {
    const { page } = visitor
    const name = `agent ${randomBytes(4).toString('hex')}`
    const { id } = await bridge.owner.createAgent(bridge.project.id, name)
    await open(id)
    await section('Enrolment').getByRole('button', { name: 'New prompt…' }).click()
    await bridge.owner.setAgent(bridge.project.id, id, 'disabled')
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    expect(await dialog().count()).toBe(0)
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/agents/${bridge.project.id}`)
    await page.getByText('It does not exist.', { exact: true }).waitFor()
  })

  test('says Unavailable when nothing was heard for 30 seconds', async () => {
    const { page, picture } = visitor
    await page.clock.install()
    await open(bridge.ada.id)
    await section('Presence').getByText('1 of test 1, began').waitFor()
    // The silence is measured from the first snapshot.
    await page.locator('.where').getByText('demo').waitFor()
    expect(await section('Presence').getByText('Unavailable').count()).toBe(0)
    await page.context().setOffline(true)
    await page.clock.runFor(32_000)
    await expect.poll(() => section('Presence').getByText('Unavailable', { exact: true }).count()).toBe(4)
    expect(await section('Presence').getByText('1 of test 1, began').count()).toBe(1)
    await picture('agent-stale')
    await page.context().setOffline(false)
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return section('Presence').getByText('Unavailable').count()
      })
      .toBe(0)
  })
})
