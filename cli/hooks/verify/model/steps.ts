/** Steps of a script, and the answers that they become. */

/** Answer that a script chooses. */
export type Step =
  | { readonly text: string }
  /** A command for the harness's own shell tool. */
  | { readonly shell: string }
  /** A call of the first tool whose name matches. */
  | { readonly tool: RegExp; readonly input: object }

/** A text, or a call of a tool that the request offers. */
export type Answer = { readonly text: string } | { readonly tool: string; readonly input: object }

/** Arguments of each shell tool for a command. */
export type Shells = Readonly<Record<string, (command: string) => object>>

export type Body = Readonly<Record<string, unknown>>

/** Returns the answer. A step whose tool is not offered becomes a text that says so. */
export function answerOf(step: Step, tools: readonly string[], shells: Shells): Answer {
  if ('text' in step) return step
  if ('tool' in step) {
    const tool = tools.find((name) => step.tool.test(name))
    return tool === undefined ? { text: `(no tool ${step.tool.source})` } : { tool, input: step.input }
  }
  const tool = Object.keys(shells).find((name) => tools.includes(name))
  const input = tool === undefined ? undefined : shells[tool]?.(step.shell)
  return tool === undefined || input === undefined ? { text: '(no shell tool)' } : { tool, input }
}
