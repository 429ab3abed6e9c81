/**
 * Trust of Codex in hooks. Codex skips a hook without a word until the user has trusted exactly this hook.
 *
 * `codex app-server` lists the hooks with their key, hash and trust. An entry `[hooks.state."<key>"]` with
 * the hash in `config.toml` is trust, as the screen `/hooks` writes it. We write entries for our own hooks
 * only, and only if the user asks for it.
 */
import { spawn } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { CommandError } from '../../exit-codes.ts'
import { type Entry, isObject } from './entries.ts'
import type { Machine } from './places.ts'

export interface ListedHook {
  readonly key: string
  readonly command: string
  readonly sourcePath: string
  readonly currentHash: string
  /** `trusted`, `untrusted` or `modified`. */
  readonly trustStatus: string
  readonly enabled: boolean
}

const answerMs = 20_000

/**
 * Returns the hooks of the user that Codex finds, and those of the flags. @throws CommandError if Codex does
 * not answer
 */
export async function listHooks(
  codex: string,
  { environment, home }: Machine,
  flags: readonly string[] = [],
): Promise<readonly ListedHook[]> {
  const child = spawn(codex, ['app-server', ...flags], {
    cwd: home,
    env: { ...environment, HOME: home },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  child.stdin.on('error', () => {})
  const timer = setTimeout(() => child.kill('SIGKILL'), answerMs)
  try {
    const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
    const clientInfo = { name: 'agent-bridge', title: 'agent-bridge', version: '1' }
    send({ id: 1, method: 'initialize', params: { clientInfo } })
    send({ method: 'initialized' })
    send({ id: 2, method: 'hooks/list', params: { cwds: [home] } })
    for await (const line of createInterface({ input: child.stdout })) {
      const answer = parsed(line)
      if (answer?.id === 2) return hooksOf(answer.result)
    }
  } finally {
    clearTimeout(timer)
    child.stdin.end()
    child.kill('SIGTERM')
    await ended
  }
  throw new CommandError('unexpected', 'Codex did not list its hooks', {
    hint: 'open /hooks in Codex and trust the hooks of agent-bridge',
  })
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function hooksOf(result: unknown): ListedHook[] {
  const data = isObject(result) && Array.isArray(result.data) ? result.data : []
  return data
    .flatMap((each: unknown) => (isObject(each) && Array.isArray(each.hooks) ? each.hooks : []))
    .filter((hook: unknown): hook is ListedHook => isObject(hook) && typeof hook.key === 'string')
}

/** Returns the listed hooks that are these entries of this file. */
export async function oursAmong(
  listed: readonly ListedHook[],
  file: { readonly path: string; readonly entries: readonly Entry[] },
): Promise<ListedHook[]> {
  const commands = new Set(file.entries.map(({ value }) => commandOf(value)))
  const path = await realpath(file.path).catch(() => file.path)
  const ours: ListedHook[] = []
  for (const hook of listed) {
    const source = await realpath(hook.sourcePath).catch(() => hook.sourcePath)
    if (source === path && commands.has(hook.command)) ours.push(hook)
  }
  return ours
}

function commandOf(value: unknown): string | undefined {
  const [handler]: unknown[] = isObject(value) && Array.isArray(value.hooks) ? value.hooks : []
  return isObject(handler) && typeof handler.command === 'string' ? handler.command : undefined
}

/** Returns the entries that trust these hooks. A hook that is trusted needs none. */
export const trustEntries = (hooks: readonly ListedHook[]): Entry[] =>
  hooks
    .filter(({ trustStatus }) => trustStatus !== 'trusted')
    .map(({ key, currentHash }) => ({ at: ['hooks', 'state', key], value: { trusted_hash: currentHash } }))

export const isTrust = ({ at }: Entry): boolean => at[0] === 'hooks' && at[1] === 'state'
