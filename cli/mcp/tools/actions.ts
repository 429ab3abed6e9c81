/** Tools with several actions: which arguments each action needs and takes. */
import type { CliContext } from '../../context.ts'
import { type Properties, type Values, wrong } from './arguments.ts'

export interface Action {
  readonly needs: readonly string[]
  readonly takes: readonly string[]
  run(context: CliContext, values: object): Promise<void>
}

/** Returns a function that declares an action over these properties. */
export const actionOver =
  <P extends Properties>() =>
  <Need extends keyof P & string = never, Take extends keyof P & string = never>(
    needs: readonly Need[],
    takes: readonly Take[],
    run: (context: CliContext, values: Values<Pick<P, Need | Take>, Need>) => Promise<void>,
  ): Action => ({
    needs,
    takes,
    run: (context, values) => run(context, values as Values<Pick<P, Need | Take>, Need>),
  })

/** Runs the action that the arguments name. @throws CommandError for a missing argument, or one of another action */
export async function runAction(
  actions: Readonly<Record<string, Action>>,
  context: CliContext,
  { action: name, line: _, ...values }: { readonly action: string; readonly line?: number },
): Promise<void> {
  const action = actions[name]
  if (action === undefined) throw wrong('action', `must be one of ${Object.keys(actions).join(', ')}`)
  const { needs, takes } = action
  const typed = Object.keys(values)
  const missing = needs.find((need) => !typed.includes(need))
  if (missing !== undefined) throw wrong(missing, `is missing; action ${name} needs it`)
  const extra = typed.find((each) => !needs.includes(each) && !takes.includes(each))
  if (extra !== undefined) {
    const known = [...needs, ...takes]
    const hint = known.length === 0 ? 'it takes none' : `it takes ${known.join(', ')}`
    throw wrong(extra, `is not for action ${name}`, hint)
  }
  await action.run(context, values)
}
