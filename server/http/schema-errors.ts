/**
 * Translates Ajv's errors into the wire format: one fault per place, with a path and a problem.
 *
 * A choice of constants or types is a union in the contract. Ajv reports each member of the union separately;
 * these are joined into one problem that lists the choices.
 *
 * Contract §1 "422 with the path of each fault".
 */
import { similarWords } from '../../sdk/contract/spelling.ts'

export interface SchemaFault {
  /** `body/message_ids/0`, `query/limit`, `path/id`. */
  readonly path: string
  readonly problem: string
}

/** The fields of Ajv's errors that are used here. */
export interface Finding {
  readonly instancePath: string
  readonly message?: string | undefined
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  /** The refused value. */
  readonly data?: unknown
}

const shown = 20
/** Each error is compared with all others, so their number is bounded before. */
const considered = 200

export function toFaults(part: string, findings: readonly Finding[]): SchemaFault[] {
  const bounded = findings.slice(0, considered)
  const hidden = new Set(bounded.flatMap((each) => (each.keyword === 'x-visible' ? each.instancePath : [])))
  // Ajv reports "must match a schema in anyOf" beside the error of each member, and a pattern beside the
  // character that breaks it. Only the more specific error is kept.
  const isRedundant = ({ keyword, instancePath }: Finding) =>
    keyword === 'anyOf' || (keyword === 'pattern' && hidden.has(instancePath))
  const kept = bounded.filter((each) => !isRedundant(each))
  const faults = new Map<string, SchemaFault>()
  for (const finding of kept) {
    const fault = { path: `${part}${pathOf(finding)}`, problem: problemOf(finding, kept) }
    faults.set(`${fault.path} ${fault.problem}`, fault)
  }
  return [...faults.values()].slice(0, shown)
}

/** Path of the fault. A missing or unknown field is named itself and not the object around it. */
function pathOf({ instancePath, keyword, params }: Finding): string {
  if (keyword === 'additionalProperties') return `${instancePath}/${params.additionalProperty}`
  return keyword === 'required' ? `${instancePath}/${params.missingProperty}` : instancePath
}

function problemOf(finding: Finding, all: readonly Finding[]): string {
  const { keyword, message, params, instancePath, data } = finding
  const members = (param: string) => [
    ...new Set(
      all
        .filter((each) => each.keyword === keyword && each.instancePath === instancePath)
        .map((each) => String(each.params[param])),
    ),
  ]
  if (keyword === 'additionalProperties') return 'is not a known field'
  if (keyword === 'required') return 'is missing'
  if (keyword === 'const') return `must be ${members('allowedValue').join(', ') || 'empty'}`
  if (keyword === 'type') return `must be ${members('type').join(' or ')}`
  if (keyword === 'enum') return unknownWord(String(data), params.allowedValues as readonly string[])
  return message ?? `breaks the rule ${params.keyword ?? keyword}`
}

/** A long list of words is not repeated, only those that the client may have meant. */
function unknownWord(word: string, known: readonly string[]): string {
  const near = similarWords(word, known)
  const hint = near.length === 0 ? '' : `; the nearest are ${near.join(', ')}`
  return `is not one of the ${known.length} known words${hint}`
}
