import type { FastifyInstance } from 'fastify'
import { type GuideTopic, guideTopics } from '../../sdk/contract/agent/guides.ts'
import { guideTexts, guideVersion } from '../../sdk/contract/guide-texts.ts'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { route } from '../route.ts'

export function guideRoutes(app: FastifyInstance, context: Context): void {
  const answer = (caller: AgentCaller, topic: GuideTopic) =>
    readAs(context, caller, async () => ({ version: guideVersion, topic, instructions: guideTexts[topic] }))
  for (const topic of guideTopics) {
    route(app, context, contract.guides[topic], ({ caller }) => answer(caller, topic))
  }
}
