/** `bridge server doctor`: checks the node of this machine. Contract §12. */

import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { failureReport } from '../../failures/failure-report.ts'
import { type Finding, ok, report, warning } from '../../failures/findings.ts'
import { clientOptions } from '../../startup/client-options.ts'
import { configOf, givenSettings, onHost, type Server, type SettingOptions, withData } from './settings.ts'
import { localFetch } from './status.ts'

export function serverDoctorCommand(context: CliContext, run = serverDoctor): Command {
  const doctor = command('doctor', 'bridge server doctor').description(
    'Check the installation: settings, data folder, certificate, database, disk, clock, and the running server. Changes nothing. Exit 0 if there is no problem, else the exit code of the first problem.',
  )
  return withData(doctor).action((options: SettingOptions) => run(context, options))
}

export async function serverDoctor(context: CliContext, options: SettingOptions): Promise<void> {
  const findings: Finding[] = []
  try {
    await onHost(async (server) => {
      const config = configOf(server, context, options)
      findings.push(ok('settings', `usable; the data folder is ${config.data}`))
      // A running server has settings from its own flags and environment, which this command cannot see.
      const isGiven = Object.keys(givenSettings(server, options)).length > 0
      const runsWith = isGiven ? undefined : server.readAddress(config.data)?.runsWith
      const packagesPlace =
        runsWith?.packages === undefined
          ? config.packagesPlace
          : server.objectPlaceOf(runsWith.packages, context.environment)
      const examined = { ...config, ...runsWith, packagesPlace }
      findings.push(...(await server.examine(examined, context.clock())))
      findings.push(await running(context, server, config.data))
    })
  } catch (error) {
    const { exit, message = 'failed', hint } = await failureReport(error, context)
    findings.push({ check: 'settings', state: 'problem', text: message, remedy: hint, exit })
  }
  report(context, findings)
}

async function running(context: CliContext, server: Server, data: string): Promise<Finding> {
  const address = server.readAddress(data)
  if (address === undefined) return warning('server', 'does not run', 'bridge server start')
  try {
    const { nodeStatus, version } = await import('../../../sdk/program.ts')
    const fetch = await localFetch(address.cert)
    const options = {
      ...(await clientOptions(context)),
      ...fetch,
      baseUrl: address.url,
      allowPlainHttp: true,
    }
    const { health, readiness } = await nodeStatus(options)
    const failing = Object.entries(readiness.checks).filter(([, holds]) => !holds)
    if (!readiness.ready)
      return {
        check: 'server',
        state: 'problem',
        text: `runs at ${address.url} and is not ready: ${failing.map(([name]) => name).join(', ')}`,
        remedy: 'the other findings and its log show why',
        exit: 'unreachable',
      }
    const other = health.build.version
    return other === version
      ? ok('server', `runs at ${address.url}, ready, ${version}`)
      : warning('server', `runs at ${address.url} as ${other}; this program is ${version}`, 'restart it')
  } catch (error) {
    const { exit, message = 'failed' } = await failureReport(error, context)
    return {
      check: 'server',
      state: 'problem',
      text: `should run at ${address.url}, but does not answer: ${message}`,
      remedy: 'it was killed or hangs; if no process uses the folder, bridge server start starts it again',
      exit,
    }
  }
}
