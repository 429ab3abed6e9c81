/**
 * Paths that open the owner's page. Every other unknown path stays 404: as JSON, or for a browser that opens it, as
 * the page that says so.
 *
 * The list is in the form of Fastify routes. Contract §11.
 */
export const pagePaths = [
  '/',
  '/setup',
  '/sign-in',
  '/projects/*',
  '/audit',
  '/people',
  '/node',
  '/settings',
] as const

export const assetPath = '/assets/:name'

const rules = [...pagePaths, assetPath].map(
  (path) => new RegExp(`^${path.replace('*', '.+').replace(/:\w+/, '[^/]+')}$`),
)

/** Returns whether the path is of the page or of one of its files, which answer GET only. */
export const isPagePath = (path: string): boolean => rules.some((rule) => rule.test(path))
