/** `bridge admin`: the owner's commands, in the order in which an owner needs them. Contract §12. */
import { type Command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { ackCommand } from './ack.ts'
import { assignCommand } from './administrator/assign.ts'
import { createAdministratorCommand } from './administrator/create.ts'
import { linkAdministratorCommand } from './administrator/link.ts'
import { listAdministratorsCommand } from './administrator/list.ts'
import { administratorStateCommand } from './administrator/state.ts'
import { changeAgentCommand } from './agent/change.ts'
import { createAgentCommand } from './agent/create.ts'
import { instructionsCommand } from './agent/instructions.ts'
import { listAgentsCommand } from './agent/list.ts'
import { nameAgentCommand } from './agent/name.ts'
import { recipientKeyCommand } from './agent/recipient-key.ts'
import { showAgentCommand } from './agent/show.ts'
import { agentStateCommand } from './agent/state.ts'
import { auditCommand } from './audit.ts'
import { broadcastCommand } from './broadcast.ts'
import { conversationsCommand } from './conversations.ts'
import { issueCredentialCommand } from './credential/issue.ts'
import { listCredentialsCommand } from './credential/list.ts'
import { revokeCredentialCommand } from './credential/revoke.ts'
import { showCredentialCommand } from './credential/show.ts'
import { createEnrollmentCommand } from './enrollment/create.ts'
import { listEnrollmentsCommand } from './enrollment/list.ts'
import { revokeEnrollmentCommand } from './enrollment/revoke.ts'
import { showEnrollmentCommand } from './enrollment/show.ts'
import { changeEnvironmentCommand } from './environment/change.ts'
import { createEnvironmentCommand } from './environment/create.ts'
import { listEnvironmentsCommand } from './environment/list.ts'
import { showEnvironmentCommand } from './environment/show.ts'
import { historyCommand } from './history.ts'
import { inboxCommand } from './inbox.ts'
import { loginCommand } from './login.ts'
import { logoutCommand } from './logout.ts'
import { messageCommand } from './message.ts'
import { openCommand } from './open.ts'
import { listPairingsCommand } from './pairing/list.ts'
import { setPairingCommand } from './pairing/set.ts'
import { passwordCommand } from './password.ts'
import { changeProjectCommand } from './project/change.ts'
import { createProjectCommand } from './project/create.ts'
import { deleteProjectCommand } from './project/delete.ts'
import { listProjectsCommand } from './project/list.ts'
import { projectStateCommand } from './project/state.ts'
import { replyCommand } from './reply.ts'
import { listSessionsCommand } from './sessions/list.ts'
import { revokeSessionCommand } from './sessions/revoke.ts'
import { setupCommand } from './setup.ts'
import { statusCommand } from './status.ts'
import { takeoverCommand } from './takeover.ts'
import { cancelTaskCommand } from './task/cancel.ts'
import { createTaskCommand } from './task/create.ts'
import { listTasksCommand } from './task/list.ts'
import { showTaskCommand } from './task/show.ts'
import { telemetryCommand } from './telemetry.ts'
import { cancelTransferCommand } from './transfer/cancel.ts'
import { listTransfersCommand } from './transfer/list.ts'
import { showTransferCommand } from './transfer/show.ts'
import { watchCommand } from './watch.ts'
import { whoamiCommand } from './whoami.ts'

export function adminCommand(context: CliContext): Command {
  return group('admin', 'bridge admin agent list')
    .description('Commands of the owner: sign in, create projects and agents, enrol agents, watch and steer.')
    .addCommand(setupCommand(context))
    .addCommand(loginCommand(context))
    .addCommand(logoutCommand(context))
    .addCommand(whoamiCommand(context))
    .addCommand(openCommand(context))
    .addCommand(sessionsGroup(context))
    .addCommand(passwordCommand(context))
    .addCommand(projectGroup(context))
    .addCommand(administratorGroup(context))
    .addCommand(environmentGroup(context))
    .addCommand(agentGroup(context))
    .addCommand(pairingGroup(context))
    .addCommand(enrollmentGroup(context))
    .addCommand(credentialGroup(context))
    .addCommand(takeoverCommand(context))
    .addCommand(inboxCommand(context))
    .addCommand(replyCommand(context))
    .addCommand(messageCommand(context))
    .addCommand(broadcastCommand(context))
    .addCommand(conversationsCommand(context))
    .addCommand(historyCommand(context))
    .addCommand(ackCommand(context))
    .addCommand(statusCommand(context))
    .addCommand(watchCommand(context))
    .addCommand(auditCommand(context))
    .addCommand(telemetryCommand(context))
    .addCommand(taskGroup(context))
    .addCommand(transferGroup(context))
}

const sessionsGroup = (context: CliContext): Command =>
  group('sessions', 'bridge admin sessions')
    .description('Your own sign-ins.')
    .addCommand(listSessionsCommand(context), { isDefault: true })
    .addCommand(revokeSessionCommand(context))

const projectGroup = (context: CliContext): Command =>
  group('project', 'bridge admin project create demo')
    .description('Projects. Agents of different projects cannot reach each other.')
    .addCommand(createProjectCommand(context))
    .addCommand(listProjectsCommand(context))
    .addCommand(changeProjectCommand(context))
    .addCommand(projectStateCommand(context))
    .addCommand(deleteProjectCommand(context))

const administratorGroup = (context: CliContext): Command =>
  group('administrator', 'bridge admin administrator create kim')
    .description('Administrators: people who may steer projects that you assign.')
    .addCommand(createAdministratorCommand(context))
    .addCommand(listAdministratorsCommand(context))
    .addCommand(assignCommand(context, 'assign'))
    .addCommand(assignCommand(context, 'unassign'))
    .addCommand(linkAdministratorCommand(context))
    .addCommand(administratorStateCommand(context))

const environmentGroup = (context: CliContext): Command =>
  group('environment', 'bridge admin environment list')
    .description('Environments: where agents run.')
    .addCommand(createEnvironmentCommand(context))
    .addCommand(listEnvironmentsCommand(context))
    .addCommand(showEnvironmentCommand(context))
    .addCommand(changeEnvironmentCommand(context))

const agentGroup = (context: CliContext): Command =>
  group('agent', 'bridge admin agent create ada --role reviewer')
    .description('Agents of a project.')
    .addCommand(createAgentCommand(context))
    .addCommand(listAgentsCommand(context))
    .addCommand(showAgentCommand(context))
    .addCommand(nameAgentCommand(context))
    .addCommand(changeAgentCommand(context))
    .addCommand(agentStateCommand(context))
    .addCommand(instructionsCommand(context))
    .addCommand(recipientKeyCommand(context))

const pairingGroup = (context: CliContext): Command =>
  group('pairing', 'bridge admin pairing list')
    .description('Pairings: which two agents may talk.')
    .addCommand(listPairingsCommand(context))
    .addCommand(setPairingCommand(context, 'enable'))
    .addCommand(setPairingCommand(context, 'disable'))

const enrollmentGroup = (context: CliContext): Command =>
  group('enrollment', 'bridge admin enrollment create ada')
    .description('Enrolments: single-use prompts that connect agents.')
    .addCommand(createEnrollmentCommand(context))
    .addCommand(listEnrollmentsCommand(context))
    .addCommand(showEnrollmentCommand(context))
    .addCommand(revokeEnrollmentCommand(context))

const taskGroup = (context: CliContext): Command =>
  group('task', 'bridge admin task list')
    .description('Tasks: create, watch and cancel them.')
    .addCommand(createTaskCommand(context))
    .addCommand(listTasksCommand(context))
    .addCommand(showTaskCommand(context))
    .addCommand(cancelTaskCommand(context))

const transferGroup = (context: CliContext): Command =>
  group('transfer', 'bridge admin transfer list')
    .description('Transfers of files between agents: see and cancel them.')
    .addCommand(listTransfersCommand(context))
    .addCommand(showTransferCommand(context))
    .addCommand(cancelTransferCommand(context))

const credentialGroup = (context: CliContext): Command =>
  group('credential', 'bridge admin credential list')
    .description('Credentials of agents.')
    .addCommand(issueCredentialCommand(context))
    .addCommand(listCredentialsCommand(context))
    .addCommand(showCredentialCommand(context))
    .addCommand(revokeCredentialCommand(context))
