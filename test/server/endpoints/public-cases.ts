/** Cases of the public endpoints: health, readiness, the API description, and the claim of an enrolment. */
import { readdirSync } from 'node:fs'
import { contract } from '../../../sdk/contract/index.ts'
import { enrollV1, sha256Hex } from '../../../sdk/signing/canonical.ts'
import { generateKeyPair } from '../../../sdk/signing/keys.ts'
import { sign } from '../../../sdk/signing/proof.ts'
import { claimBody } from '../../support/agent.ts'
import { builtClient } from '../../support/program.ts'
import type { SomeCases } from './case.ts'
import { type Ready, send } from './send.ts'
import type { World } from './world.ts'

const device = '{"os":"linux","machine":"m-1","install":"i-1"}'

/** Issues a code for a fresh agent; returns it with the address of the claim. */
async function coded(world: World, fields: object = {}) {
  const projectId = await world.project()
  const agentId = await world.unenrolled(projectId)
  return { projectId, agentId, code: await world.owner.enrollmentCode(projectId, agentId, fields) }
}

const claim = (world: World, code: string): Ready => ({
  by: world.bridge,
  body: claimBody(code, generateKeyPair()),
})

/** The device is in the body and in the header, byte for byte equal. */
function deviceClaim(world: World, code: string): Ready {
  const keys = generateKeyPair()
  const text = enrollV1({ codeSha256: sha256Hex(code), publicKey: keys.publicKey, device })
  return {
    by: world.bridge,
    body: { ...claimBody(code, keys), device, proof: sign(keys.privateKey, text) },
    extra: [['X-Bridge-Device', device]],
  }
}

const clientFile = () => readdirSync(builtClient ?? '')[0] ?? ''

const anybody = async (world: World): Promise<Ready> => ({ by: world.bridge })

/** A request over the budget, on a node where no time passes. */
async function overBudget(world: World): Promise<Ready> {
  const settings = { public_per_second: '1', public_burst: '20' }
  const { bridge } = await world.elsewhere({ settings, monotonicMs: () => 0 })
  const ready = { by: bridge }
  const isServed = async () => (await send(contract.health.get, ready)).status === 200
  while (await isServed());
  return ready
}

export const publicCases: SomeCases<
  'health.get' | 'health.ready' | 'health.openapi' | 'client.get' | 'client.download' | 'enrollments.claim'
> = {
  'health.get': { success: anybody, refusals: { rate_limited: overBudget } },
  'health.ready': { success: anybody, refusals: { rate_limited: overBudget } },
  'health.openapi': { success: anybody, refusals: { rate_limited: overBudget } },
  'client.get': { success: anybody, refusals: { rate_limited: overBudget } },
  'client.download': {
    success: async ({ bridge }) => ({ by: bridge, params: { file: clientFile() } }),
    refusals: {
      rate_limited: async (world) => ({ ...(await overBudget(world)), params: { file: clientFile() } }),
    },
  },

  'enrollments.claim': {
    success: async (world) => deviceClaim(world, (await coded(world, { binding: 'device' })).code),
    also: {
      'of a key alone': async (world) => claim(world, (await coded(world)).code),
      'again, with the same key': async (world) => {
        const ready = claim(world, (await coded(world)).code)
        await send(contract.enrollments.claim, ready)
        return ready
      },
    },
    refusals: {
      unauthenticated: async (world) => claim(world, 'AAAAAAAAAAAAAAAAAAAAAAAA'),
      signature_invalid: async (world) => {
        const { code } = await coded(world)
        const { proof } = claimBody(code, generateKeyPair())
        return { by: world.bridge, body: { ...claimBody(code, generateKeyPair()), proof } }
      },
      device_mismatch: async (world) => {
        const { code } = await coded(world, { binding: 'device' })
        return { ...deviceClaim(world, code), extra: [] }
      },
      agent_disabled: async (world) => {
        const { projectId, agentId, code } = await coded(world)
        await world.setAgent(projectId, agentId, 'disabled')
        return claim(world, code)
      },
      enrollment_used: async (world) => {
        const { code } = await coded(world)
        await send(contract.enrollments.claim, claim(world, code))
        return claim(world, code)
      },
      enrollment_expired: async (world) => {
        const { code } = await coded(world, { ttl_seconds: 60 })
        world.bridge.clock.advance(60)
        return claim(world, code)
      },
      enrollment_revoked: async (world) => {
        const { projectId, agentId, code } = await coded(world)
        await world.owner.enrollmentCode(projectId, agentId)
        return claim(world, code)
      },
      project_archived: async (world) => {
        const { projectId, code } = await coded(world)
        await world.setProject(projectId, 'archived')
        return claim(world, code)
      },
      rate_limited: async (world) => {
        const other = await world.elsewhere({ settings: { failed_auth_per_minute: '1' } })
        await send(contract.enrollments.claim, claim(other, 'AAAAAAAAAAAAAAAAAAAAAAAA'))
        return claim(other, 'BBBBBBBBBBBBBBBBBBBBBBBB')
      },
    },
  },
}
