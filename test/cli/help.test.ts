/** The topics of `bridge help` beside the commands, and the completions of real shells. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exitCodes } from '../../cli/exit-codes.ts'
import { environment } from '../../cli/terminal/help-topics.ts'
import { auditKinds } from '../../sdk/contract/audit-kinds.ts'
import { runHere } from './frame.ts'

test('help lists every exit code and every variable', async () => {
  const { stdout: codes, code } = await runHere(['help', 'exit-codes'])
  expect(code).toBe(0)
  for (const each of Object.values(exitCodes)) expect(codes).toMatch(new RegExp(`^ *${each}  [A-Z]`, 'm'))
  const { stdout: variables } = await runHere(['help', 'environment'])
  for (const name of Object.keys(environment)) expect(variables).toContain(name)
})

test("the primer is short enough for an agent's instructions, and names the commands that an agent uses", async () => {
  const { stdout, code } = await runHere(['help', 'agents'])
  expect(code).toBe(0)
  // Three characters per token: a higher count than any tokenizer in use.
  expect(Math.ceil(stdout.length / 3)).toBeLessThan(700)
  for (const word of ['listen', 'send', 'ask', 'reply', 'ack', 'inbox', 'status'])
    expect(stdout).toMatch(new RegExp(`^- agent-bridge ${word}\\b`, 'm'))
})

test('help lists every kind of audit record with its sentence', async () => {
  const { stdout, code } = await runHere(['help', 'audit-kinds'])
  expect(code).toBe(0)
  for (const [kind, sentence] of Object.entries(auditKinds))
    expect(stdout).toContain(`${kind}\n    ${sentence}`)
  expect((await runHere(['admin', 'audit', '--help'])).stdout).toContain('bridge help audit-kinds')
})

test('help for an unknown command is a usage error', async () => {
  expect(await runHere(['help', 'frobnicate'])).toMatchObject({ code: 2, stdout: '' })
  expect(await runHere(['help', 'admin', 'frobnicate'])).toMatchObject({ code: 2, stdout: '' })
  expect((await runHere(['help', 'admin', 'agent'])).stdout).toMatch(/^Usage: bridge admin agent/)
})

describe('completion', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-completion-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  beforeAll(async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      writeFileSync(join(folder, shell), (await runHere(['completion', shell])).stdout)
    }
  })

  const has = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

  /** The last word is the one being typed. */
  const ask: Record<string, (words: readonly string[]) => string> = {
    bash: (words) =>
      `source ${folder}/bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
       COMP_CWORD=${words.length - 1}; _bridge; printf '%s\\n' "\${COMPREPLY[@]}"`,
    zsh: (words) =>
      `compdef() { :; }; compadd() { shift; print -l -- "$@"; }; source ${folder}/zsh
       words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _bridge`,
    fish: (words) => `source ${folder}/fish; complete -C '${words.join(' ')}'`,
  }

  const completed = (shell: string, words: readonly string[]): string[] =>
    execFileSync(shell, ['-c', ask[shell]?.(words) ?? ''], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: folder },
    })
      .split('\n')
      .map((line) => line.split('\t')[0] ?? '')

  test.each(['bash', 'zsh', 'fish'].filter(has))(
    '%s completes commands, their commands and options',
    (name) => {
      expect(completed(name, ['bridge', ''])).toEqual(expect.arrayContaining(['send', 'listen', 'admin']))
      expect(completed(name, ['bridge', 'admin', 'agent', ''])).toEqual(
        expect.arrayContaining(['create', 'list']),
      )
      expect(completed(name, ['bridge', '--profile', 'send', 'outbox', ''])).toContain('flush')
      expect(completed(name, ['bridge', 'send', 'ben', '--'])).toContain('--require-listening')
      expect(completed(name, ['bridge', 'send', ''])).not.toContain('flush')
    },
  )

  test.runIf(has('bash'))('the line of the help loads the script in bash', async () => {
    const { stdout } = await runHere(['completion', '--help'])
    // Bash 3.2 of macOS reads nothing from source <(…).
    const [line = ''] = /eval "\$\(bridge completion bash\)"/.exec(stdout.replace(/\s+/g, ' ')) ?? []
    const script = `bridge() { cat '${folder}'/"$2"; }; ${line}; complete -p bridge`
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toContain('-F _bridge bridge')
  })

  test('the script for zsh loads the completion system if nothing has', () => {
    // Zsh of macOS has no `compdef` before `compinit`.
    const text = readFileSync(join(folder, 'zsh'), 'utf8')
    expect(text).toMatch(
      /^#compdef bridge agent-bridge\n\(\( \$\+functions\[compdef\] \)\) \|\| \{ autoload -Uz compinit && compinit \}\n/,
    )
  })

  test.runIf(has('zsh'))('and registers itself in a zsh without it', () => {
    const functions = join(folder, 'functions')
    mkdirSync(functions)
    writeFileSync(join(functions, 'compinit'), `compdef() { print -- "$@" }`)
    const environment = { PATH: process.env.PATH, HOME: folder, FPATH: functions }
    const script = `eval "$(cat ${folder}/zsh)"`
    const printed = execFileSync('zsh', ['-f', '-c', script], { encoding: 'utf8', env: environment })
    expect(printed).toBe('_bridge bridge agent-bridge\n')
  })

  test('an unknown shell is refused', async () => {
    expect(await runHere(['completion', 'tcsh'])).toMatchObject({ code: 2, stdout: '' })
  })
})
