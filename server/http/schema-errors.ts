/**
 * What a schema found wrong, as the wire names it: one fault a place, with its path and a sentence.
 *
 * A choice of words or types is a union in the contract, and the validator reports each of its members; a reader wants
 * the choice.
 *
 * Contract §1 "422 with the path of each fault".
 */

export interface SchemaFault {
  /** `body/message_ids/0`, `query/limit`, `path/id`. */
  readonly path: string
  readonly problem: string
}

/** What is read of Ajv's list. */
export interface Finding {
  readonly instancePath: string
  readonly message?: string | undefined
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
}

const shown = 20
/** Each finding is compared with the others, so a body of many faults must not decide how many there are. */
const considered = 200

export function toFaults(part: string, findings: readonly Finding[]): SchemaFault[] {
  const looked = findings.slice(0, considered)
  const hidden = new Set(looked.flatMap((each) => (each.keyword === 'x-visible' ? each.instancePath : [])))
  // "Must match a schema in anyOf" stands beside what each member said, and a pattern beside the character that breaks it.
  const isSaidBetter = ({ keyword, instancePath }: Finding) =>
    keyword === 'anyOf' || (keyword === 'pattern' && hidden.has(instancePath))
  const said = looked.filter((each) => !isSaidBetter(each))
  const faults = new Map<string, SchemaFault>()
  for (const finding of said) {
    const fault = { path: `${part}${placeOf(finding)}`, problem: problemOf(finding, said) }
    faults.set(`${fault.path} ${fault.problem}`, fault)
  }
  return [...faults.values()].slice(0, shown)
}

/** A field that is missing or unknown is named itself, not the object around it. */
function placeOf({ instancePath, keyword, params }: Finding): string {
  if (keyword === 'additionalProperties') return `${instancePath}/${params.additionalProperty}`
  return keyword === 'required' ? `${instancePath}/${params.missingProperty}` : instancePath
}

function problemOf(finding: Finding, all: readonly Finding[]): string {
  const { keyword, message, params, instancePath } = finding
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
  return message ?? `breaks the rule ${params.keyword ?? keyword}`
}
