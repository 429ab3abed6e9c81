/**
 * A node, two enrolled profiles on one machine, a scripted model, and an empty project folder: `cleo` is the
 * agent in the harness, and `dora` writes to it.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Holder } from '../../cli/hooks/holder.ts'
import { listHooks } from '../../cli/hooks/install/codex-trust.ts'
import { placesOf } from '../../cli/hooks/places.ts'
import { type ModelRequest, type Script, ScriptedModel } from '../../cli/hooks/verify/model/scripted-model.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'
import { program } from '../support/program.ts'
import { lastOf, processesOf } from '../support/remains.ts'
import { type Ended, Started, TestHome } from '../support/test-home.ts'
import { agentPath, pathOf } from './programs.ts'
import { Terminal } from './terminal.ts'

export const secret = 'SECRET-BODY: please review the parser'
export const noticeWords = '[agent-bridge notice'

/** Milliseconds in which our processes end after their harness, as docs/agents.md says. */
export const endMs = 8000

/** Key of the scripted model. The last 20 characters appear in Claude Code's settings. */
const modelKey = 'sk-ant-fake-0123456789abcdefghijklmnop'

export class Scene {
  readonly bridge: TestBridge
  readonly home: TestHome
  readonly cleo: Enrolled
  readonly dora: Enrolled
  readonly #models: ScriptedModel[] = []
  readonly #terminals: Terminal[] = []
  readonly #children = new Set<ChildProcessWithoutNullStreams>()

  private constructor(bridge: TestBridge, home: TestHome, cleo: Enrolled, dora: Enrolled) {
    this.bridge = bridge
    this.home = home
    this.cleo = cleo
    this.dora = dora
  }

  static async make(): Promise<Scene> {
    const bridge = await startBridge()
    const home = await TestHome.make()
    const cleo = await enrolled(bridge, home, 'cleo')
    const dora = await enrolled(bridge, home, 'dora')
    const scene = new Scene(bridge, home, cleo, dora)
    mkdirSync(scene.project)
    // Agents call the program by its second name.
    scene.write('bin/agent-bridge', `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`, 0o755)
    return scene
  }

  /**
   * Installs the program as the line of a prompt does, and returns the paths of its launcher and first file.
   */
  installed(): { readonly launcher: string; readonly file: string } {
    const file = this.write('.agent-bridge/1/agent-bridge.cjs', `require(${JSON.stringify(program)})\n`)
    const launcher = this.write(
      '.agent-bridge/1/agent-bridge',
      `#!/bin/sh\nexec ${process.execPath} ${file} "$@"\n`,
      0o755,
    )
    return { launcher, file }
  }

  get folder(): string {
    return this.home.folder
  }

  get project(): string {
    return join(this.folder, 'project')
  }

  get environment(): Record<string, string> {
    return {
      PATH: `${join(this.folder, 'bin')}:${agentPath}`,
      HOME: this.folder,
      BRIDGE_HOME: join(this.folder, 'bridge'),
      XDG_CACHE_HOME: join(this.folder, 'cache'),
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
    }
  }

  write(path: string, text: string | object, mode = 0o600): string {
    const whole = join(this.folder, path)
    mkdirSync(join(whole, '..'), { recursive: true })
    writeFileSync(whole, typeof text === 'string' ? text : JSON.stringify(text), { mode })
    return whole
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8')
  }

  exists(path: string): boolean {
    return existsSync(join(this.folder, path))
  }

  /** Trusts every hook that Codex finds, as its user does in `/hooks`. */
  async trustAll(environment: Readonly<Record<string, string>>): Promise<void> {
    const path = pathOf('codex') ?? 'codex'
    const machine = { home: this.folder, environment, node: process.execPath, program }
    for (const { key, currentHash } of await listHooks(path, machine))
      appendFileSync(
        join(this.folder, '.codex/config.toml'),
        `[hooks.state.${JSON.stringify(key)}]\ntrusted_hash = "${currentHash}"\n`,
      )
  }

  async model(script: Script): Promise<ScriptedModel> {
    const model = await ScriptedModel.start(script, Date.now)
    this.#models.push(model)
    return model
  }

  /** Environment of Claude Code, whose first questions are answered already. */
  claude(model: ScriptedModel): Record<string, string> {
    this.write('.claude.json', {
      hasCompletedOnboarding: true,
      lastOnboardingVersion: '2.1.330',
      theme: 'dark',
      customApiKeyResponses: { approved: [modelKey.slice(-20)], rejected: [] },
      projects: {
        [this.project]: {
          hasTrustDialogAccepted: true,
          allowedTools: [],
          hasCompletedProjectOnboarding: true,
        },
      },
    })
    return {
      ...this.environment,
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: modelKey,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      ENABLE_TOOL_SEARCH: 'false',
    }
  }

  /** Environment of Codex, with settings for the scripted model before those of an installation. */
  codex(model: ScriptedModel, more = ''): Record<string, string> {
    this.write(
      '.codex/config.toml',
      `model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "workspace-write"
${more}
[projects."${this.project}"]
trust_level = "trusted"
[model_providers.fake]
name = "fake"
base_url = "${model.url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
`,
    )
    return { ...this.environment, FAKE_KEY: 'fake' }
  }

  terminal(command: readonly string[], environment: Readonly<Record<string, string>>): Terminal {
    const terminal = new Terminal(command, { folder: this.folder, cwd: this.project, environment })
    this.#terminals.push(terminal)
    return terminal
  }

  /** Runs a command of ours that must succeed. */
  async run(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = this.environment,
  ): Promise<Ended> {
    const ended = await this.home.run(args, { environment })
    expect([args, ended.code, ended.stderr]).toEqual([args, 0, ended.stderr])
    return ended
  }

  /** Runs another program in the project folder until it ends. */
  async command(
    program: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<Ended> {
    const child = spawn(program, args, { cwd: this.project, env: environment })
    this.#children.add(child)
    child.stdin.end()
    const ended = await new Started(child).ended
    this.#children.delete(child)
    return ended
  }

  /** Sends the secret from dora; returns the id, and the time at which the node stored it. */
  async mail(): Promise<{ readonly id: string; readonly atMs: number }> {
    const { stdout } = await this.dora.bridge('send', 'cleo', secret, '--json')
    const { message } = JSON.parse(stdout) as { message: { id: string; created_at: string } }
    return { id: message.id, atMs: Date.parse(message.created_at) }
  }

  /** Waits until the waiter of cleo has seen mail. */
  async mailSeen(): Promise<void> {
    await expect.poll(() => existsSync(this.home.path('cleo', 'hooks', 'mail.json'))).toBe(true)
  }

  /** Waits until dora sees that cleo listens. The requests in between cost less than a command of dora. */
  async listening(): Promise<void> {
    const { owner, project } = this.bridge
    const target = `/api/admin/projects/${project.id}/agents/${this.cleo.id}`
    const isListening = async () =>
      (await owner.ok<{ connection: { listening_now: boolean } }>({ target })).connection.listening_now
    await expect.poll(isListening).toBe(true)
    expect((await this.dora.bridge('peers')).stdout).toMatch(/cleo.*listening now/i)
  }

  /**
   * Mail for an idle session: for 5 s the model is not asked, no waiter runs, and dora sees that nobody
   * listens.
   */
  async notWoken(model: ScriptedModel): Promise<void> {
    const before = model.requests.length
    await this.mail()
    await sleep(5000)
    expect(model.requests).toHaveLength(before)
    expect(this.processes.filter((each) => / hooks run .* wait/.test(each))).toEqual([])
    expect((await this.dora.bridge('peers')).stdout).not.toMatch(/cleo.*listening now/i)
  }

  /** Waits until dora sees that the message is acknowledged. */
  async acknowledged(id: string): Promise<void> {
    await expect.poll(async () => (await this.dora.bridge('status', id)).stdout).toMatch(/; acknowledged /)
  }

  /**
   * Mail for a session that has ended: `listen --exec` resumes it, its hooks tell it, and it reads the mail.
   */
  async wokenByListen(
    command: string,
    model: ScriptedModel,
    environment: Readonly<Record<string, string>>,
  ): Promise<void> {
    const before = model.requests.length
    const words = ['listen', '--once', '--exec', `${command} </dev/null`, '--profile', 'cleo']
    const listen = this.command('agent-bridge', words, environment)
    await this.listening()
    const { id } = await this.mail()
    const { code } = await listen
    expect(code).toBe(0)
    const woken = await requestOf(model, before)
    const notices = noticesIn(woken) - keptNoticesIn(model.requests[before - 1])
    expect([notices, woken.last.includes('SECRET'), woken.text.includes('handled')]).toEqual([1, false, true])
    expect((await requestOf(model, before + 1)).last).toContain(secret)
    await this.acknowledged(id)
    await this.quiet()
  }

  /**
   * Kills the harness while its waiter runs, and waits until no process and no file of the waiter is left.
   */
  async killHarness(): Promise<void> {
    const { holder, waiter, mail } = placesOf(this.environment.BRIDGE_HOME ?? '', 'cleo')
    await expect.poll(() => existsSync(waiter)).toBe(true)
    const { process: harness } = JSON.parse(readFileSync(holder, 'utf8')) as Holder
    process.kill(harness.pid, 'SIGKILL')
    await this.quiet({ timeout: endMs })
    expect([waiter, mail].filter((path) => existsSync(path))).toEqual([])
  }

  get processes(): readonly string[] {
    return processesOf(this.folder)
  }

  /** Waits until no process of this machine is left. */
  async quiet(options: { readonly timeout?: number } = {}): Promise<void> {
    await expect.poll(() => processesOf(this.folder), options).toEqual([])
  }

  async close(): Promise<void> {
    for (const terminal of this.#terminals) terminal.close()
    for (const child of this.#children) child.kill('SIGKILL')
    for (const model of this.#models) await model.close()
    await lastOf(() => processesOf(this.folder))
    await this.home.remove()
    await this.bridge.close()
  }
}

/** Waits for the request with this number. */
export async function requestOf(model: ScriptedModel, number: number): Promise<ModelRequest> {
  await expect.poll(() => model.requests.length).toBeGreaterThan(number)
  const { [number]: request } = model.requests
  if (request === undefined) throw new Error(`there is no request ${number}`)
  return request
}

/** The command that a notice names. */
export const commandOf = ({ text }: ModelRequest): string | undefined =>
  /inbox of agent-bridge, or: ([^"\\]+?)\. Acknowledge/.exec(text)?.[1]

/** Runs `hooks verify`. Returns its exit code, and the problems, each with its check, text and remedy. */
export async function problemsOf(
  scene: Scene,
  harness: string,
): Promise<{ readonly code: number | null; readonly found: string[] }> {
  const words = ['hooks', 'verify', harness, '--json']
  const { code, stdout } = await scene.home.run(words, { environment: scene.environment })
  const { findings } = JSON.parse(stdout) as {
    findings: { check: string; state: string; text: string; remedy: string }[]
  }
  const broken = findings.filter(({ state }) => state === 'problem')
  return { code, found: broken.map(({ check, text, remedy }) => `${check}: ${text}; ${remedy}`) }
}

/** Number of notices in a conversation. */
export const noticesIn = ({ text }: ModelRequest): number => text.split(noticeWords).length - 1

/**
 * Number of notices that are in the history of a session that is resumed. Copilot CLI runs the hooks of start and
 * first prompt side by side, and keeps only the notice of a prompt.
 */
const keptNoticesIn = (request: ModelRequest | undefined): number =>
  (request?.text ?? '').split(`<system_reminder>\\n${noticeWords}`).length - 1
