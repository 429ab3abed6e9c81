/** Opens an address in the default browser of this machine. */
import type { Environment } from '../context.ts'
import { CommandError } from '../exit-codes.ts'

/** A program that opens a browser may run as long as the browser. A failure shows sooner. */
const failsWithinMs = 2000

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** @throws CommandError if no program opens the address. */
export async function openInBrowser(address: string, environment: Environment): Promise<void> {
  const { spawn } = await import('node:child_process')
  const [program, ...words] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...words, address], { detached: true, stdio: 'ignore', env: environment })
  const failure = await new Promise<string | undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), failsWithinMs)
    child.on('error', ({ message }) => resolve(message))
    child.on('exit', (code) =>
      resolve(code === 0 ? undefined : `${program} ended with ${code ?? 'a signal'}`),
    )
    child.on('close', () => clearTimeout(timer))
  })
  child.unref()
  if (failure !== undefined)
    throw new CommandError('unexpected', `no browser was opened: ${failure}`, {
      hint: 'open the printed address in a browser',
    })
}
