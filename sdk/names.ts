/**
 * Ids and names as arguments. A text in the form of an id is an id. Any other text is a name and is compared
 * exactly.
 *
 * Contract §13 "Wherever an agent's id is taken, its name is too".
 */

/** Returns the id in lower case, as on the wire, or undefined if the text is a name. */
export function asId(text: string): string | undefined {
  const lower = text.toLowerCase()
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(lower) ? lower : undefined
}

const namesListed = 5

/**
 * Hint for an unknown name: the names that differ only in upper and lower case, or else the first five names.
 */
export function whoThereIs(name: string, all: readonly { readonly name: string }[]): string {
  const alike = all.filter((each) => each.name.toLowerCase() === name.toLowerCase())
  const names = (alike.length > 0 ? alike : all).map((each) => each.name)
  if (names.length === 0) return 'there are none yet'
  const more = names.length > namesListed ? ` and ${names.length - namesListed} more` : ''
  return `there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, namesListed).join(', ')}${more}`
}
