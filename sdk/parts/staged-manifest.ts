import type { Manifest } from '../contract/helper/manifest.ts'

/** A manifest and the SHA-256 of its bytes. The digest identifies parts that belong to another manifest. */
export type StagedManifest = Omit<Manifest, 'version' | 'mode'> & { readonly digest: string }
