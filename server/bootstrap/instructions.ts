/**
 * Renders an agent's work instructions: its name and role, its description and prompt template, and the
 * instructions that the owner saved for it.
 */
export interface Instructed {
  readonly name: string
  readonly role_name: string
  readonly project_name: string
  readonly description: string
  readonly prompt_template: string
  readonly instructions: string
}

export function renderInstructions(agent: Instructed): string {
  const role = agent.role_name === '' ? '' : `, ${agent.role_name}`
  return [
    `You are ${agent.name}${role}, in the project ${agent.project_name}.`,
    agent.description,
    agent.prompt_template,
    agent.instructions,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}
