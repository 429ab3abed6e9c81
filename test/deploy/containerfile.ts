/**
 * Checks a container file without a container engine: its syntax, and the settings that a node's file must
 * not have.
 *
 * Written here because the linters on npm are unmaintained or require a binary that is not available
 * everywhere. It checks one file of twenty lines.
 */
const keywords = new Set(
  'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR'.split(
    ' ',
  ),
)

interface Instruction {
  readonly keyword: string
  readonly rest: string
}

/** Returns one sentence per fault. */
export function lintContainerfile(text: string): string[] {
  const instructions = instructionsOf(text)
  const of = (...names: string[]) => instructions.filter(({ keyword }) => names.includes(keyword))
  const user = of('USER').at(-1)?.rest ?? 'root'
  const rules: [boolean, string][] = [
    [instructions[0]?.keyword !== 'FROM', 'must begin with FROM'],
    [/^(root|0)(:|$)/.test(user), 'runs as root: end with USER'],
    [
      of('FROM').some(({ rest }) => !/:(?!latest\b)[\w.-]+$/.test(rest)),
      'an image without a version: name one',
    ],
    [of('HEALTHCHECK').length !== 1, 'no HEALTHCHECK, or several'],
    [of('VOLUME').length === 0, 'no VOLUME for what must outlive the container'],
    [of('ENTRYPOINT').length !== 1, 'no ENTRYPOINT, or several'],
    [
      of('ENTRYPOINT', 'CMD').some(({ rest }) => !isExecForm(rest)),
      'a start in shell form gets no signals: use the exec form',
    ],
    [of('ADD').length > 0, 'ADD fetches and unpacks: use COPY'],
    [of('MAINTAINER').length > 0, 'MAINTAINER is no longer: use LABEL'],
    [of('RUN').some(({ rest }) => /\b(sudo|curl|wget)\b/.test(rest)), 'RUN fetches by hand or takes rights'],
    [
      of('ENV', 'ARG').some(({ rest }) => /(PASSWORD|SECRET|TOKEN)\w*=/i.test(rest)),
      'a secret in an image is read by whoever has it',
    ],
  ]
  return [
    ...instructions
      .filter(({ keyword }) => !keywords.has(keyword))
      .map(({ keyword }) => `Unknown instruction: ${keyword}`),
    ...instructions.filter(({ rest }) => rest === '').map(({ keyword }) => `${keyword} says nothing`),
    ...rules.filter(([broken]) => broken).map(([, sentence]) => sentence),
  ]
}

/** Omits comments and empty lines, and joins continued lines. */
function instructionsOf(text: string): Instruction[] {
  const lines = text.split('\n').filter((line) => !/^\s*(#|$)/.test(line))
  const whole = lines.join('\n').replaceAll(/\\\n\s*/g, ' ')
  return whole.split('\n').map((line) => {
    const [, keyword = '', rest = ''] = /^\s*(\S+)\s*(.*)$/.exec(line) ?? []
    return { keyword: keyword.toUpperCase(), rest: rest.trim() }
  })
}

function isExecForm(rest: string): boolean {
  try {
    const words: unknown = JSON.parse(rest)
    return Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string')
  } catch {
    // The text is not JSON, so it is the shell form.
    return false
  }
}
