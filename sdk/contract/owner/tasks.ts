/** Tasks, as the owner creates, reads and cancels them. Spec §4.3; contract §8. */
import { type Static, Type } from 'typebox'
import { Task, TaskInput, TaskList, TaskReasonInput, TaskTimeline, taskFilters } from '../agent/tasks.ts'
import { endpoint } from '../endpoint.ts'
import { IdParams, named, OrderedPageQuery, PageQuery, ref, Strict, Uuid } from '../primitives.ts'

export const OwnerCancelInput = named('OwnerCancelInput', Strict({ ...TaskReasonInput.properties }))
export type OwnerCancelInput = Static<typeof OwnerCancelInput>

export const OwnerCancelResult = named('OwnerCancelResult', Type.Object({ task: ref(Task) }))
export type OwnerCancelResult = Static<typeof OwnerCancelResult>

export const OwnerTaskListQuery = Strict({
  ...OrderedPageQuery.properties,
  ...taskFilters,
  assignee_agent_id: Type.Optional(Uuid),
})
export type OwnerTaskListQuery = Static<typeof OwnerTaskListQuery>

const TaskParams = Strict({ id: Uuid, task_id: Uuid })

export const tasks = {
  create: endpoint({
    id: 'owner.tasks.create',
    method: 'POST',
    path: '/api/admin/projects/{id}/tasks',
    caller: 'owner',
    idempotent: true,
    summary: "Create a task for an agent, in the agent's owner conversation.",
    params: IdParams,
    body: TaskInput,
    response: Task,
    errors: ['not_found', 'state_conflict', 'idempotency_conflict', 'capacity_reached', 'project_archived'],
  }),
  list: endpoint({
    id: 'owner.tasks.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/tasks',
    caller: 'owner',
    summary: 'List the tasks of a project, oldest first, after ending expired claims.',
    params: IdParams,
    query: OwnerTaskListQuery,
    response: TaskList,
    errors: ['not_found'],
  }),
  get: endpoint({
    id: 'owner.tasks.get',
    method: 'GET',
    path: '/api/admin/projects/{id}/tasks/{task_id}',
    caller: 'owner',
    summary: 'Read one task.',
    params: TaskParams,
    response: Task,
    errors: ['not_found'],
  }),
  timeline: endpoint({
    id: 'owner.tasks.timeline',
    method: 'GET',
    path: '/api/admin/projects/{id}/tasks/{task_id}/timeline',
    caller: 'owner',
    summary: 'Read the timeline of a task, oldest entry first.',
    params: TaskParams,
    query: PageQuery,
    response: TaskTimeline,
    errors: ['not_found'],
  }),
  cancel: endpoint({
    id: 'owner.tasks.cancel',
    method: 'POST',
    path: '/api/admin/projects/{id}/tasks/{task_id}/cancel',
    caller: 'owner',
    idempotent: true,
    summary: 'Cancel a task. If it is claimed, the holder is asked to stop and confirms.',
    params: TaskParams,
    body: OwnerCancelInput,
    response: OwnerCancelResult,
    errors: ['not_found', 'state_conflict', 'idempotency_conflict'],
  }),
}
