/** Form of a tool: its definition for clients, and the function that a call runs. */
import type { CliContext } from '../../context.ts'
import type { Params } from '../protocol/json-rpc.ts'
import { checked, type Properties, schemaOf, type Values } from './arguments.ts'

export interface Tool {
  /** As `tools/list` shows it. */
  readonly definition: { readonly name: string }
  /** Names of the arguments, for messages about faults. */
  readonly names: readonly string[]
  /** Prints the result with `context.output`. @throws CommandError `usage` for wrong arguments */
  run(context: CliContext, given: Params): Promise<void>
}

interface Parts<P extends Properties, Required extends keyof P & string> {
  readonly name: string
  readonly description: string
  readonly properties: P
  readonly required?: readonly Required[]
  /** `reads` changes nothing; `repeats` may be called again with the same effect. */
  readonly effect?: 'reads' | 'repeats'
  run(context: CliContext, values: Values<P, Required>): Promise<void>
}

export function tool<const P extends Properties, Required extends keyof P & string = never>({
  name,
  description,
  properties,
  required = [],
  effect,
  run,
}: Parts<P, Required>): Tool {
  const hints = {
    reads: { readOnlyHint: true },
    repeats: { destructiveHint: false, idempotentHint: true },
    changes: { destructiveHint: false },
  }[effect ?? 'changes']
  return {
    definition: {
      name,
      description,
      inputSchema: schemaOf(properties, required),
      annotations: { ...hints, openWorldHint: true },
    } as Tool['definition'],
    names: Object.keys(properties),
    run: (context, given) =>
      run(context, checked(properties, required, { given, seen: context.ids }) as Values<P, Required>),
  }
}

/** Line from which a long text is shown. */
export const line = { type: 'integer', from: 1, to: 1_000_000 } as const
