import { expect, test } from 'vitest'
import { createTopic } from '../../../server/delivery/topic.ts'

function subscribed(topic: ReturnType<typeof createTopic<number>>, key: string) {
  const heard: number[] = []
  return { heard, unsubscribe: topic.subscribe(key, (value) => heard.push(value)) }
}

test('each subscriber of a key gets each value of the key, and no other value', () => {
  const topic = createTopic<number>()
  const [one, two, other] = [subscribed(topic, 'a'), subscribed(topic, 'a'), subscribed(topic, 'b')]
  topic.publish('a', 1)
  topic.publish('b', 2)
  topic.publish('c', 3)
  expect([one.heard, two.heard, other.heard]).toEqual([[1], [1], [2]])
})

test('a subscriber that left gets no further value, however often it leaves, and the others still do', () => {
  const topic = createTopic<number>()
  const [first, second] = [subscribed(topic, 'a'), subscribed(topic, 'a')]
  first.unsubscribe()
  topic.publish('a', 1)
  second.unsubscribe()
  const third = subscribed(topic, 'a')
  first.unsubscribe()
  second.unsubscribe()
  topic.publish('a', 2)
  expect([first.heard, second.heard, third.heard]).toEqual([[], [1], [2]])
})

test('a subscriber may leave, and another may join, while a value is published', () => {
  const topic = createTopic<number>()
  const late: number[] = []
  const unsubscribe = topic.subscribe('a', () => {
    unsubscribe()
    topic.subscribe('a', (value) => late.push(value))
  })
  const beside = subscribed(topic, 'a')
  topic.publish('a', 1)
  topic.publish('a', 2)
  expect([beside.heard, late]).toEqual([[1, 2], [2]])
})
