/** Guides: texts that a coding agent can follow. Spec §2 "Guide response". */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { named } from '../primitives.ts'

/** The guides that a node serves. */
export const guideTopics = ['messaging', 'tasks', 'transfers', 'packages'] as const
/** One of {@link guideTopics}. */
export type GuideTopic = (typeof guideTopics)[number]

export const Guide = named(
  'Guide',
  Type.Object({ version: Type.String(), topic: Type.String(), instructions: Type.String() }),
)
export type Guide = Static<typeof Guide>

const guide = <T extends GuideTopic>(topic: T) =>
  endpoint({
    id: `guides.${topic}`,
    method: 'GET',
    path: `/api/v1/guides/${topic}`,
    caller: 'agent',
    summary: `How to work with ${topic}.`,
    response: Guide,
    errors: [],
  } as const)

export const guides = {
  messaging: guide('messaging'),
  tasks: guide('tasks'),
  transfers: guide('transfers'),
  packages: guide('packages'),
}
