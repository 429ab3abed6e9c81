/**
 * The public surface of the SDK; every export named by hand. Loads nothing heavy.
 *
 * Contract §13.
 */
export { isLoopback, parseBaseUrl } from './transport/address.ts'
export {
  BridgeError,
  LocalError,
  type LocalErrorCode,
  localErrors,
  type RefusalCode,
} from './transport/failures.ts'
export { type Fetch, type FetchInit, type FetchResponse, pooledFetch } from './transport/fetch.ts'
export {
  type CallInput,
  type CallOptions,
  freshKey,
  type KeyedOptions,
} from './transport/http.ts'
export { version } from './version.ts'
