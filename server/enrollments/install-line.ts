/**
 * The shell line that installs the client of this node, on a machine where only Node is there.
 *
 * - It runs code only after it has compared the SHA-256 of the file with the one that it carries.
 * - Its text is the same for POSIX shells, PowerShell and cmd. It has double quotes outside and single quotes inside.
 *   It has none of `$`, `` ` ``, `!`, `%`, `"` and `\`, which a shell would expand. A Node of any age can parse it up to
 *   the version check.
 * - The folder is named by version and hash, so a complete folder is the right one, and nothing is installed twice.
 *
 * Contract §4, §11.
 */
import type { ClientPackage } from '../../sdk/contract/client.ts'

/** Folder of the installation below the home folder. `agent-bridge-client-` and `.tgz` are left out of the file's name. */
export const installFolder = ({ file }: Pick<ClientPackage, 'file'>): string =>
  `.agent-bridge/${file.replace(/^agent-bridge-client-|\.tgz$/g, '')}`

/** The path of the installed program, for a POSIX shell and for PowerShell. */
export const installedProgram = (client: Pick<ClientPackage, 'file'>): string =>
  `~/${installFolder(client)}/agent-bridge`

export function installLine(origin: string, client: ClientPackage): string {
  const [major, minor] = client.node.split('.').map(Number)
  const script = [
    `const v=process.versions.node.split('.'),d=require('os').homedir()+'/${installFolder(client)}',`,
    "say=e=>{console.error('agent-bridge: '+e);process.exitCode=1};",
    `if(v[0]<${major}||v[0]==${major}&&v[1]<${minor})`,
    `say('needs Node ${major}.${minor} or newer, this is '+v.join('.')+': install it from nodejs.org');`,
    "else if(require('fs').existsSync(d+'/agent-bridge'))console.log('already installed');",
    `else fetch('${origin}/client/${client.file}')`,
    ".then(r=>r.ok?r.arrayBuffer():Promise.reject(Error('HTTP '+r.status)))",
    '.then(b=>{b=Buffer.from(b);',
    `if(require('crypto').createHash('sha256').update(b).digest('hex')=='${client.sha256}')`,
    "b=require('zlib').gunzipSync(b),Function('tar','to',b.subarray(512,512+parseInt(b.subarray(124,136),8)))(b,d);",
    "else throw Error('wrong SHA-256, nothing is installed')})",
    ".catch(e=>say(e.message+' '+(e.cause?e.cause.code:'')))",
  ]
  return `node -e "${script.join('')}"`
}
