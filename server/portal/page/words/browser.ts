/** The program of a sign-in in words, from the text with which it introduced itself. */

const programs: readonly (readonly [RegExp, string])[] = [
  [/\bEdg\w*\/(\d+)/, 'Edge'],
  [/\bOPR\/(\d+)/, 'Opera'],
  [/\bFirefox\/(\d+)/, 'Firefox'],
  [/\b(?:Headless)?Chrom(?:e|ium)\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//, 'Safari'],
  [/^agent-bridge[\w-]*\/([\w.-]+)/, 'bridge'],
]

const systems: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\biP(?:hone|ad|od)\b/, 'iOS'],
  [/\bWindows NT\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Returns `Firefox 150 on Linux`. A text of an unknown program stays as it is. */
export function browserOf(userAgent: string): string {
  if (userAgent.trim() === '') return 'Unknown program'
  for (const [rule, name] of programs) {
    const version = rule.exec(userAgent)?.[1]
    if (version === undefined) continue
    const system = systems.find(([each]) => each.test(userAgent))?.[1]
    return system === undefined ? `${name} ${version}` : `${name} ${version} on ${system}`
  }
  return userAgent
}
