/**
 * Used by the set-up of test files: the process state that a file could leave changed, and the handles that
 * it could leave open.
 */
import { getDefaultResultOrder } from 'node:dns'
import { EventEmitter } from 'node:events'
import { globalAgent } from 'node:http'
import { globalAgent as secureAgent } from 'node:https'
import { getDefaultAutoSelectFamily } from 'node:net'
import { getCACertificates } from 'node:tls'
import { vi } from 'vitest'

/** Values by name, compared by identity. */
export type State = ReadonlyMap<string, unknown>

/** Marks a global that Node loads lazily and that was not read yet. */
const unread = Symbol('unread')

export function stateOfProcess(): State {
  return new Map<string, unknown>([
    ['the working folder', process.cwd()],
    ['the umask', process.umask()],
    ['the exit code', process.exitCode],
    ['the trusted authorities', trusted()],
    ['the order of addresses', getDefaultResultOrder()],
    ['the choice of address families', getDefaultAutoSelectFamily()],
    ['the limit of listeners', EventEmitter.defaultMaxListeners],
    ['the limit of stack traces', Error.stackTraceLimit],
    ['the agent of http', globalAgent],
    ['the agent of https', secureAgent],
    ['fake timers', vi.isFakeTimers()],
    ['Date.now', Date.now],
    ['Math.random', Math.random],
    ['performance.now', performance.now],
    ['process.stdout.write', process.stdout.write],
    ['process.stderr.write', process.stderr.write],
    ...named('the variable', Object.entries(process.env)),
    ...named(
      'listeners of',
      process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    ),
    ...named(
      'the global',
      Object.entries(Object.getOwnPropertyDescriptors(globalThis)).map(([name, { get, value }]) => [
        name,
        get ? unread : value,
      ]),
    ),
  ])
}

const named = (kind: string, values: readonly (readonly [string, unknown])[]): [string, unknown][] =>
  values.map(([name, value]) => [`${kind} ${name}`, value])

/** After certificates were set, Node returns each only once and with other line breaks. */
const trusted = (): string =>
  [...new Set(getCACertificates('default').map((each) => each.replaceAll(/\s/g, '')))].sort().join()

export function changesSince(before: State): readonly string[] {
  const after = stateOfProcess()
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => {
    const value = before.get(name)
    return !Object.is(value, after.get(name)) && value !== unread
  })
}

/** The handles that keep a process alive, counted by type. */
export type Handles = ReadonlyMap<string, number>

export function openHandles(): Handles {
  const counts = new Map<string, number>()
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1)
  return counts
}

export const openedSince = (before: Handles): readonly string[] =>
  [...openHandles()].flatMap(([type, count]) => {
    const more = count - (before.get(type) ?? 0)
    return more > 0 ? [`${more} ${type}`] : []
  })
