/** Returns a count with its noun: `1 agent`, `2 agents`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
