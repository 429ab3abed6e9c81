/** The version of this package. `test/contract/package.test.ts` holds it equal to package.json. */
export const version = '0.1.0'
