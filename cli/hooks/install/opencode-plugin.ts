/** Text of our plugin for opencode. It runs in opencode's own process and imports only `node:`. */

export interface PluginFacts {
  /** Words of the command, before the name of the event. */
  readonly hook: readonly string[]
  readonly hookMs: number
  /** Words that start the MCP server. If null, there is none. */
  readonly server: readonly string[] | null
  readonly name: string
}

export const pluginText = (facts: PluginFacts): string => `${head}
const facts = ${JSON.stringify(facts, null, 2)}
${body}`

const head = `// Written by "agent-bridge hooks install opencode"; "agent-bridge hooks uninstall opencode" removes it.
// It tells a session of mail: counts, types and names, never the text of a message.
import { spawn } from 'node:child_process'
`

const body = `
/** Starts a hook with the event on standard input. */
function start(event, session, directory, more) {
  const [program, ...words] = facts.hook
  const child = spawn(program, [...words, event], { stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = { text: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => { lines.text += text })
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify({ session_id: session, cwd: directory, hook_event_name: event, ...more }))
  const ended = new Promise((resolve) => {
    child.once('error', () => resolve(undefined))
    child.once('close', () => resolve(noticeOf(lines.text)))
  })
  return { child, ended }
}

function noticeOf(text) {
  try {
    const { notice } = JSON.parse(text)
    return typeof notice === 'string' && notice !== '' ? notice : undefined
  } catch {
    return undefined
  }
}

/** Returns the notice of a hook, or undefined. A hook that takes too long is ended. */
async function noticeAt(event, session, directory, more) {
  const { child, ended } = start(event, session, directory, more)
  const timer = setTimeout(() => child.kill('SIGKILL'), facts.hookMs)
  try {
    return await ended
  } finally {
    clearTimeout(timer)
  }
}

/** Whether this is "opencode run". It exits when the session is idle, so a notice must come before that. */
const isOneTurn = process.argv.slice(2).includes('run')

export const AgentBridge = async ({ client, directory }) => {
  /** Sessions of subagents. They get no notices. */
  const subagents = new Set()
  /** Notices of the start, by session. Each is a promise until the next prompt takes it. */
  const starts = new Map()
  /** Sessions whose running turn was begun by a notice. */
  const woken = new Set()
  const waiters = new Map()

  /** Prompts the session, or adds the prompt to its running turn, which then continues. */
  const wake = async (session, notice, isRunning = false) => {
    woken.add(session)
    const parts = [{ type: 'text', text: notice, synthetic: true }]
    const given = { path: { id: session }, body: { parts, ...(isRunning && { noReply: true }) } }
    await client.session[isRunning ? 'prompt' : 'promptAsync'](given).catch(() => woken.delete(session))
  }
  /** Starts the waiter in the background. It ends at once if another process of the profile waits. */
  const wait = (session) => {
    if (waiters.has(session)) return
    const { child, ended } = start('wait', session, directory, {})
    child.unref()
    waiters.set(session, child)
    void ended.then(async (notice) => {
      waiters.delete(session)
      if (notice !== undefined) await wake(session, notice)
    })
  }
  /** Runs the hook of the start, once a session. */
  const begin = (session) => {
    if (!starts.has(session)) starts.set(session, noticeAt('session.created', session, directory, {}))
    return starts.get(session)
  }
  /**
   * Returns the notice for a prompt. The first prompt may arrive before the event of its session. The first of the two
   * runs the hook of the start, and the prompt waits for the notice.
   */
  const noticeFor = async (session) => {
    if (!starts.has(session) && await isSubagent(session)) return undefined
    const told = await begin(session)
    starts.set(session, undefined)
    return told ?? await noticeAt('chat.message', session, directory, {})
  }
  const isSubagent = async (session) => {
    const found = await client.session.get({ path: { id: session } }).catch(() => undefined)
    if (found?.data?.parentID !== undefined) subagents.add(session)
    return subagents.has(session)
  }
  const end = (session) => {
    waiters.get(session)?.kill('SIGTERM')
    for (const known of [subagents, starts, woken]) known.delete(session)
    void noticeAt('session.deleted', session, directory, {})
  }
  process.once('exit', () => {
    for (const child of waiters.values()) child.kill('SIGTERM')
  })

  const onEvent = {
    'session.created': async ({ info }) => {
      if (info.parentID === undefined) await begin(info.id)
      else subagents.add(info.id)
    },
    'session.idle': async ({ sessionID }) => {
      if (subagents.has(sessionID)) return
      const isContinued = woken.delete(sessionID)
      const notice = await noticeAt('session.idle', sessionID, directory, { stop_hook_active: isContinued })
      if (notice !== undefined) await wake(sessionID, notice)
      wait(sessionID)
    },
    'session.deleted': async ({ info }) => end(info.id),
  }

  return {
    config: async (config) => {
      if (facts.server === null) return
      config.mcp ??= {}
      config.mcp[facts.name] ??= { type: 'local', command: facts.server, enabled: true }
    },
    event: async ({ event }) => {
      // The turn does not wait for a hook, and a failed hook does not end it.
      if (Object.hasOwn(onEvent, event.type)) void onEvent[event.type](event.properties).catch(() => {})
    },
    'chat.message': async ({ sessionID }, { parts }) => {
      if (subagents.has(sessionID) || woken.has(sessionID)) return
      const notice = await noticeFor(sessionID)
      const last = parts.at(-1)
      if (notice === undefined || last === undefined) return
      // The id sorts behind that of the last part.
      const { sessionID: session, messageID } = last
      parts.push({ id: last.id + 'n', sessionID: session, messageID, type: 'text', text: notice, synthetic: true })
    },
    'experimental.text.complete': async ({ sessionID }) => {
      if (!isOneTurn || subagents.has(sessionID) || woken.has(sessionID)) return
      const notice = await noticeAt('session.idle', sessionID, directory, { stop_hook_active: false })
      if (notice !== undefined) await wake(sessionID, notice, true)
    },
    'tool.execute.after': async ({ sessionID }, output) => {
      if (subagents.has(sessionID)) return
      const notice = await noticeAt('tool.execute.after', sessionID, directory, {})
      if (notice === undefined) return
      if (typeof output.output === 'string') output.output += '\\n\\n' + notice
      // The result of an MCP tool.
      else if (Array.isArray(output.content)) output.content.push({ type: 'text', text: notice })
    },
  }
}
`
