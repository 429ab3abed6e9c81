/**
 * A full disk or a kill at any step of `hooks install` and `hooks uninstall` leaves every file with its old or
 * its new bytes, and both commands complete afterwards.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HarnessName } from '../../../cli/hooks/harnesses.ts'
import { type Disk, realDisk } from '../../../cli/hooks/install/disk.ts'
import { applyInstall, insideOf, layoutOf, planInstall } from '../../../cli/hooks/install/install.ts'
import type { Machine } from '../../../cli/hooks/install/places.ts'
import { readRecord } from '../../../cli/hooks/install/record.ts'
import { applyUninstall, planUninstall } from '../../../cli/hooks/install/uninstall.ts'
import { Desk } from '../../support/desk.ts'
import { put, treeOf } from './homes.ts'

type Fault = 'full' | 'killed'

/**
 * A disk that fails at one step. `full`: this step fails, after half of the bytes of a file. `killed`: no later
 * step changes anything either.
 */
class FaultyDisk {
  steps = 0
  readonly #at: number
  readonly #fault: Fault

  constructor(at: number, fault: Fault) {
    this.#at = at
    this.#fault = fault
  }

  get disk(): Disk {
    const step =
      <A extends unknown[]>(act: (...args: A) => Promise<void>, half?: (...args: A) => Promise<void>) =>
      async (...args: A): Promise<void> => {
        this.steps += 1
        if (this.steps === this.#at) await half?.(...args)
        if (this.steps === this.#at || (this.#fault === 'killed' && this.steps > this.#at))
          throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC', path: args[0] })
        await act(...args)
      }
    return {
      makeFolder: step(realDisk.makeFolder),
      createFile: step(realDisk.createFile, (path, bytes) =>
        writeFile(path, bytes.subarray(0, bytes.length / 2)),
      ),
      rename: step(realDisk.rename),
      removeFile: step(realDisk.removeFile),
      removeFolder: step(realDisk.removeFolder),
      syncFolder: step(realDisk.syncFolder),
    }
  }
}

class Scene {
  readonly desk: Desk
  readonly harness: HarnessName
  readonly #machine: Machine

  private constructor(desk: Desk, harness: HarnessName) {
    this.desk = desk
    this.harness = harness
    this.#machine = { home: desk.folder, environment: {}, node: '/opt/node', program: '/opt/bridge.cjs' }
  }

  static async make(harness: HarnessName): Promise<Scene> {
    const desk = await Desk.make()
    await put(join(desk.folder, '.codex/hooks.json'), '{"hooks": {"Stop": []}}', 0o600)
    await put(join(desk.folder, '.codex/config.toml'), 'model = "x"')
    await put(join(desk.folder, '.copilot/mcp-config.json'), '')
    return new Scene(desk, harness)
  }

  get #inside() {
    return insideOf(this.harness, this.#machine)
  }

  #layout(mcpProfile?: string) {
    return layoutOf(this.harness, this.#machine, { mcpProfile, allowsReading: true })
  }

  async install(disk = realDisk, mcpProfile = 'ada'): Promise<void> {
    const { harness, desk } = this
    const { node, program } = this.#machine
    const recorded = await readRecord(desk.home, harness)
    const layout = this.#layout(mcpProfile)
    const plan = await planInstall(layout, recorded, this.#inside)
    const facts = { harness, profile: mcpProfile, folders: {}, node, program } as const
    await applyInstall(desk.home, plan, recorded, {
      facts: { ...facts, installed_at: '2026-01-01T12:00:00Z', mcp: true, allow: 'read' },
      folder: layout.folder,
      disk,
    })
  }

  async uninstall(disk = realDisk): Promise<void> {
    const recorded = await readRecord(this.desk.home, this.harness)
    if (recorded === undefined) return
    const plan = await planUninstall(recorded, this.#inside)
    await applyUninstall(this.desk.home, recorded, plan, { folder: this.#layout().folder, disk })
  }

  tree(): Promise<Record<string, string>> {
    return treeOf(this.desk.folder)
  }
}

type Tree = Record<string, string>

/** Each file is as before or as after the command. A draft is no file of anybody yet. */
function expectOldOrNew(tree: Tree, old: Tree, now: Tree): void {
  for (const path of Object.keys({ ...tree, ...old, ...now })) {
    if (path.endsWith('/') || path.includes('.agent-bridge.tmp')) continue
    expect([old[path], now[path]], path).toContain(tree[path])
  }
}

interface Move {
  readonly before: (scene: Scene) => Promise<void>
  readonly act: (scene: Scene, disk: Disk) => Promise<void>
}

const moves: Readonly<Record<string, Move>> = {
  install: { before: async () => {}, act: (scene, disk) => scene.install(disk) },
  update: { before: (scene) => scene.install(realDisk, 'eve'), act: (scene, disk) => scene.install(disk) },
  uninstall: { before: (scene) => scene.install(), act: (scene, disk) => scene.uninstall(disk) },
}

const harnesses: readonly HarnessName[] = ['claude', 'codex', 'copilot']
const cases = harnesses.flatMap((harness) =>
  Object.keys(moves).flatMap((move) =>
    (['full', 'killed'] as const).map((fault) => [harness, move, fault] as const),
  ),
)

test.each(cases)('%s: %s on a disk that is %s at each step', async (harness, name, fault) => {
  const { before, act } = moves[name] as Move
  for (let at = 1, isDone = false; !isDone; at += 1) {
    for (const next of ['install', 'uninstall'] as const) {
      const scene = await Scene.make(harness)
      try {
        const empty = await scene.tree()
        await before(scene)
        const old = await scene.tree()
        const faulty = new FaultyDisk(at, fault)
        const ended = await act(scene, faulty.disk).then(
          () => 'done',
          ({ code, exit }) => code ?? exit,
        )
        isDone = faulty.steps < at
        expect(ended).toBe(isDone ? 'done' : 'unexpected')
        const stopped = await scene.tree()
        if (next === 'install') {
          await scene.install()
          const full = await scene.tree()
          expectOldOrNew(stopped, old, name === 'uninstall' ? empty : full)
          expect(Object.keys(full).filter((path) => path.includes('.tmp'))).toEqual([])
        }
        await scene.uninstall()
        expect(await scene.tree()).toEqual(empty)
      } finally {
        await scene.desk.remove()
      }
    }
  }
})
