/** Certificate authorities that a client trusts at one node. Contract §4. */

/**
 * Returns TLS options that trust `ca`, in PEM, besides the authorities of this process. Without `ca` there are none.
 * Loading those of Node takes milliseconds, so only a client with an authority of its own pays for it.
 */
export async function trusting(ca: string | undefined): Promise<{ ca?: string[] }> {
  if (ca === undefined) return {}
  const { getCACertificates } = await import('node:tls')
  return { ca: [...getCACertificates('default'), ca] }
}
