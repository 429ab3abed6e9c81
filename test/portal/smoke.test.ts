/** The owner's page in short: signing in, the overview, a message. The only test in Chromium of `npm test`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium("the owner's page", () => {
  let bridge: TestBridge
  let chromium: Chromium

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  test('signs the owner in, shows the agents, and sends a message', async () => {
    const { page, faults } = await chromium.visitor(bridge.url)
    const { ada, ben, project } = bridge
    await signIn(page, bridge.url, `/projects/${project.id}`)
    await page.getByRole('rowheader', { name: 'ada' }).waitFor()
    const conversation = await ada.conversationWith(ben.id)
    await ada.send(conversation, ben.id, 'from ada')
    await page.goto(`${bridge.url}/projects/${project.id}/conversations/${conversation}`)
    await page.getByText('from ada', { exact: true }).waitFor()
    await page.getByLabel('Message').fill('from the owner')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('from the owner', { exact: true }).waitFor()
    expect((await ben.inbox()).messages.map(({ body }) => body)).toEqual(['from ada'])
    expect((await ada.inbox()).messages.map(({ body }) => body)).toEqual(['from the owner'])
    expect(faults).toEqual([])
  })
})
