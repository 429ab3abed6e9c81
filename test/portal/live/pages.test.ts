/** Lists in pages on the owner's page: what a refresh, an older page and a failed read do to them. */
import { describe, expect, test } from 'vitest'
import { type PagesOptions, pagesOf } from '../../../server/portal/page/live/pages.ts'

interface Item {
  readonly id: string
  readonly state: string
}

/** A list of the node with pages of three, whose next reads may fail or change. */
function listOf(count: number, options: PagesOptions = {}) {
  const items: Item[] = []
  const add = () => void items.unshift({ id: `t${items.length}`, state: 'open' })
  for (let made = 0; made < count; made += 1) add()
  const node = { items, add, reads: 0, isDown: false }
  const pages = pagesOf<Item>(async (after) => {
    node.reads += 1
    if (node.isDown) throw new Error('down')
    const from = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1
    const page = items.slice(from, from + 3)
    return { items: page, older: from + 3 < items.length ? page.at(-1)?.id : undefined }
  }, options)
  const ids = () => pages.items.value?.map(({ id }) => id).join(' ')
  return { node, pages, ids }
}

describe('a list in pages', () => {
  test('begins with the newest page and ends with the oldest', async () => {
    const { pages, ids } = listOf(7)
    expect(ids()).toBeUndefined()
    await pages.refresh()
    expect(ids()).toBe('t6 t5 t4')
    await pages.older()
    await pages.older()
    expect(ids()).toBe('t6 t5 t4 t3 t2 t1 t0')
    expect(pages.hasOlder.value).toBe(false)
    await pages.older()
    expect(ids()).toBe('t6 t5 t4 t3 t2 t1 t0')
  })

  test('reads what it shows again, with what is new, and keeps its end', async () => {
    const { node, pages, ids } = listOf(7)
    await pages.refresh()
    await pages.older()
    node.add()
    node.items[3] = { id: 't4', state: 'completed' }
    await pages.refresh()
    expect(ids()).toBe('t7 t6 t5 t4 t3 t2 t1 t0')
    expect(pages.items.value?.[3]?.state).toBe('completed')
  })

  test('forgets an item that has left the list', async () => {
    const { node, pages, ids } = listOf(3)
    await pages.refresh()
    node.items.splice(0, 3, { id: 't9', state: 'open' })
    await pages.refresh()
    expect(ids()).toBe('t9')
  })

  test('reads only newer items if they never change', async () => {
    const { node, pages, ids } = listOf(7, { isFixed: true })
    await pages.refresh()
    await pages.older()
    for (let made = 0; made < 4; made += 1) node.add()
    node.reads = 0
    await pages.refresh()
    expect(ids()).toBe('t10 t9 t8 t7 t6 t5 t4 t3 t2 t1')
    expect(node.reads).toBe(2)
    await pages.older()
    expect(ids()).toBe('t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0')
  })

  test('keeps its items when a read fails, and recovers', async () => {
    const { node, pages, ids } = listOf(4)
    await pages.refresh()
    node.isDown = true
    await pages.refresh()
    await pages.older()
    expect(ids()).toBe('t3 t2 t1')
    expect(pages.error.value).toBeInstanceOf(Error)
    expect(pages.isReading.value).toBe(false)
    node.isDown = false
    await pages.refresh()
    expect(pages.error.value).toBeUndefined()
  })

  test('keeps the failure of a refresh until the newest items are read again', async () => {
    const { node, pages, ids } = listOf(7)
    await pages.refresh()
    node.add()
    node.isDown = true
    await pages.refresh()
    node.isDown = false
    await pages.older()
    expect([ids(), pages.error.value]).toEqual(['t6 t5 t4 t3 t2 t1', expect.any(Error)])
    await pages.refresh()
    expect([ids(), pages.error.value]).toEqual(['t7 t6 t5 t4 t3 t2 t1 t0', undefined])
  })

  test('makes one read of refreshes that wait', async () => {
    const { node, pages } = listOf(2)
    await Promise.all([pages.refresh(), pages.refresh(), pages.refresh()])
    expect(node.reads).toBe(1)
    await pages.refresh()
    expect(node.reads).toBe(2)
  })

  test('takes no answer after its end', async () => {
    const { pages, ids } = listOf(2)
    const reading = pages.refresh()
    pages.stop()
    await reading
    expect(ids()).toBeUndefined()
  })
})
