/** `bridge admin open`: prints an address of the owner's page, or opens it. Contract §10, §11. */
import { type Command, command, Option, oneOf } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { wholeId } from '../../ids/kinds.ts'
import { idOfKind } from '../../ids/typed.ts'
import { openInBrowser } from '../../owner/browser.ts'
import { asOwner } from '../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../owner/names.ts'
import { loadOwnerProfile } from '../../owner/profile.ts'

const places = ['project', 'agent', 'task', 'message', 'transfer'] as const
export type Place = (typeof places)[number]

export interface OpenOptions extends ProjectOption {
  readonly browser?: true
  readonly link?: true
}

export function openCommand(context: CliContext, run = open): Command {
  const build = command('open', 'bridge admin open')
    .description(
      "Print the address of the owner's page, or of one object on it, at the node of this sign-in.",
    )
    .argument('[what]', places.join(', '), oneOf(places))
    .argument('[which]', 'its id; a project or an agent may be named')
    .addOption(
      new Option('--browser', 'also open it in the default browser of this machine').conflicts('link'),
    )
    .option('--link', 'only print it, which is the default')
  return withProject(build).action(
    (what: Place | undefined, which: string | undefined, options: OpenOptions) =>
      run(context, what, which, options),
  )
}

export async function open(
  context: CliContext,
  what: Place | undefined,
  which: string | undefined,
  options: OpenOptions,
): Promise<void> {
  const profile = await loadOwnerProfile(context)
  if (profile === undefined) {
    throw new CommandError('authentication', 'not signed in', {
      hint: 'bridge admin login --url URL --name NAME signs in',
    })
  }
  const { portal_origin: origin } = profile
  const address = what === undefined ? origin : `${origin}${await pathOf(context, what, which, options)}`
  // The ids of an address stay whole, because a browser needs them.
  if (!context.output.json) context.io.out(`${address}\n`)
  else context.output.result({ portal_origin: origin, ...(what !== undefined && { address }) }, '')
  if (options.browser) await openInBrowser(address, context.environment)
}

/** Path of the page. Only a project may be left out, if there is only one. */
async function pathOf(
  context: CliContext,
  what: Place,
  which: string | undefined,
  { project: option }: ProjectOption,
): Promise<string> {
  if (which === undefined && what !== 'project')
    throw new CommandError('usage', `which ${what}? its id is missing`)
  const wanted = which === undefined ? undefined : idOfKind(context.ids, which, what)
  if (wanted !== undefined && (what === 'task' || what === 'message' || what === 'transfer')) {
    if (!wholeId.test(wanted)) throw new CommandError('usage', `this is not the id of a ${what}`)
  }
  return asOwner(context, async (owner) => {
    const project = await findProject(owner, what === 'project' ? (wanted ?? option) : option, context)
    if (what === 'project' || wanted === undefined) return `/projects/${project.id}`
    const id = what === 'agent' ? await findAgent(owner, project, wanted, context) : wanted.toLowerCase()
    return `/projects/${project.id}/${what}s/${id}`
  })
}
