/**
 * A node, two people whose profiles are on one machine, and folders to send from and receive into, for the
 * tests of `bridge transfer`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { boxesIn } from '../support/boxes.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'
import { type Ended, TestHome } from '../support/test-home.ts'

export class FileScene {
  readonly bridge: TestBridge
  /** Runs commands in this process. */
  readonly desk: Desk
  /** Runs commands with the same profiles as separate processes. */
  readonly home: TestHome
  readonly folder: string
  readonly sender: Enrolled
  readonly recipient: Enrolled
  /** Makes a fresh empty folder. */
  readonly box = boxesIn(() => this.folder)

  private constructor(parts: Pick<FileScene, 'bridge' | 'desk' | 'folder' | 'sender' | 'recipient'>) {
    this.bridge = parts.bridge
    this.desk = parts.desk
    this.home = TestHome.at(parts.desk.folder)
    this.folder = parts.folder
    this.sender = parts.sender
    this.recipient = parts.recipient
  }

  static async open(sender: string, recipient: string): Promise<FileScene> {
    const bridge = await startBridge()
    const desk = await Desk.make()
    return new FileScene({
      bridge,
      desk,
      folder: await mkdtemp(join(tmpdir(), 'bridge-files-')),
      sender: await enrolled(bridge, desk, sender),
      recipient: await enrolled(bridge, desk, recipient),
    })
  }

  async close(): Promise<void> {
    await this.home.remove()
    await rm(this.folder, { recursive: true, force: true })
    await this.bridge.close()
  }

  /** The path of a file below its folder. */
  path(name: string): string {
    return join(this.folder, name)
  }

  /** The number of the sender's transfers. */
  async count(): Promise<number | undefined> {
    const [list] = await this.sender.lines<{ transfers: unknown[] }>('transfer', 'list')
    return list?.transfers.length
  }

  /** Runs a send that is interrupted before its first byte; returns its exit and the id of the offer. */
  async interrupted(name: string, ...more: string[]): Promise<Ended & { readonly id: string }> {
    const interruption = new AbortController()
    const onError = (text: string) => {
      if (text.includes('offered as ')) interruption.abort()
    }
    const { sender, recipient, desk } = this
    const words = ['transfer', 'send', this.path(name), '--to', recipient.name, '--profile', sender.name]
    const ended = await desk.run([...words, ...more], { interruption, onError })
    return { ...ended, id: /--resume (\S+)/.exec(ended.stderr)?.[1] ?? '' }
  }
}
