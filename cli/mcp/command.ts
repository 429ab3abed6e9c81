/** `bridge mcp`: the tools of an agent for a coding harness, over the Model Context Protocol. */
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'

export interface McpOptions {
  readonly files?: string
}

export function mcpCommand(context: CliContext, run = mcp): Command {
  return command('mcp', 'bridge mcp --profile ada')
    .description(
      'Serve messages, tasks and files as MCP tools on standard input and output. A harness starts it; docs/agents.md shows how.',
    )
    .option(
      '--files <folder>',
      'folder whose files the tools may send, and write received files to (default: the current folder)',
    )
    .action((options: McpOptions) => run(context, options))
}

export async function mcp(context: CliContext, { files = '.' }: McpOptions): Promise<void> {
  const { serve } = await import('./serve.ts')
  await serve(context, files)
}
