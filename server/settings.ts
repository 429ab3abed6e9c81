/**
 * All settings of the server. Each is a flag, a variable of the environment, and a key in `config.json`.
 *
 * This table is the only list: the command's flags, the reference page and the parser are derived from it.
 */
import { limits } from '../sdk/contract/limits.ts'

export interface Setting {
  /** Key in `config.json`; the flag is the same with hyphens. */
  readonly name: string
  readonly env: string
  readonly meaning: string
  readonly fallback: string
  /**
   * A `file` given as a flag or variable is relative to the working directory, one in `config.json` to the
   * data folder.
   */
  readonly kind: 'text' | 'integer' | 'file'
}

export const settings = [
  {
    name: 'host',
    env: 'BRIDGE_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    meaning: 'address to listen on, where anything but loopback requires TLS or trusted_proxy',
  },
  {
    name: 'port',
    env: 'BRIDGE_PORT',
    kind: 'integer',
    fallback: '8484',
    meaning: 'port to listen on, where 0 picks a free one',
  },
  {
    name: 'portal_origin',
    env: 'BRIDGE_PORTAL_ORIGIN',
    kind: 'text',
    fallback: '',
    meaning: 'origin that owner requests must carry and that prompts name, by default the listening address',
  },
  {
    name: 'tls_cert',
    env: 'BRIDGE_TLS_CERT',
    kind: 'file',
    fallback: '',
    meaning: 'file with the certificate and its intermediates, in PEM; the server then speaks TLS',
  },
  {
    name: 'tls_key',
    env: 'BRIDGE_TLS_KEY',
    kind: 'file',
    fallback: '',
    meaning: 'file with the private key of tls_cert, in PEM',
  },
  {
    name: 'tls_ca',
    env: 'BRIDGE_TLS_CA',
    kind: 'file',
    fallback: '',
    meaning:
      'file with the certificate authority of this node or its proxy, in PEM. Prompts hand it to agents. By default it is a self-signed certificate at the end of tls_cert',
  },
  {
    name: 'trusted_proxy',
    env: 'BRIDGE_TRUSTED_PROXY',
    kind: 'text',
    fallback: '',
    meaning: 'comma-separated addresses or subnets whose X-Forwarded-For header is trusted',
  },
  {
    name: 'database',
    env: 'BRIDGE_DATABASE_URL',
    kind: 'text',
    fallback: '',
    meaning:
      'PostgreSQL database as postgres://user@host/name, by default SQLite in the data folder. A password belongs in the variable, in database_url_file or in ~/.pgpass',
  },
  {
    name: 'database_url_file',
    env: 'BRIDGE_DATABASE_URL_FILE',
    kind: 'file',
    fallback: '',
    meaning: 'file with the URL of the PostgreSQL database, password included, instead of database',
  },
  {
    name: 'database_listen_url',
    env: 'BRIDGE_DATABASE_LISTEN_URL',
    kind: 'text',
    fallback: '',
    meaning:
      'direct URL of the same PostgreSQL database, by which the node hears other nodes if database leads through a pooler. A password belongs in the variable, in database_listen_url_file or in ~/.pgpass',
  },
  {
    name: 'database_listen_url_file',
    env: 'BRIDGE_DATABASE_LISTEN_URL_FILE',
    kind: 'file',
    fallback: '',
    meaning: 'file with the direct URL, password included, instead of database_listen_url',
  },
  {
    name: 'node_name',
    env: 'BRIDGE_NODE_NAME',
    kind: 'text',
    fallback: '',
    meaning:
      'name of this node, which no other node of its database has, at most 64 characters, by default the host name and six characters of the data folder',
  },
  {
    name: 'packages',
    env: 'BRIDGE_PACKAGES',
    kind: 'text',
    fallback: 'folder',
    meaning:
      'store of packages, which is folder for the data folder, or a bucket of an S3-compatible store as s3://bucket/prefix. Its credentials belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in ~/.aws/credentials',
  },
  {
    name: 'packages_endpoint',
    env: 'BRIDGE_PACKAGES_ENDPOINT',
    kind: 'text',
    fallback: '',
    meaning: 'origin of the object store, such as https://objects.example, by default that of Amazon',
  },
  {
    name: 'packages_region',
    env: 'BRIDGE_PACKAGES_REGION',
    kind: 'text',
    fallback: '',
    meaning: 'region of the bucket, by default AWS_REGION, else us-east-1',
  },
  {
    name: 'merge_statements',
    env: 'BRIDGE_MERGE_STATEMENTS',
    kind: 'text',
    fallback: 'on',
    meaning:
      'on or off: whether a node on PostgreSQL runs requests side by side, with equal statements sent as one',
  },
  {
    name: 'stage',
    env: 'BRIDGE_STAGE',
    kind: 'text',
    fallback: 'production',
    meaning: 'name of this deployment, shown by /api/health',
  },
  {
    name: 'log_level',
    env: 'BRIDGE_LOG_LEVEL',
    kind: 'text',
    fallback: 'info',
    meaning: 'fatal, error, warn, info, debug, trace or silent',
  },
  {
    name: 'envelope_key_file',
    env: 'BRIDGE_ENVELOPE_KEY_FILE',
    kind: 'file',
    fallback: '',
    meaning: 'file with the envelope key, 32 bytes in base64, by default envelope.key in the data folder',
  },
  {
    name: 'rate_per_second',
    env: 'BRIDGE_RATE_PER_SECOND',
    kind: 'integer',
    fallback: String(limits.ratePerSecond),
    meaning: 'requests per second and agent',
  },
  {
    name: 'rate_burst',
    env: 'BRIDGE_RATE_BURST',
    kind: 'integer',
    fallback: String(limits.rateBurst),
    meaning: 'requests that an agent may send in one burst',
  },
  {
    name: 'public_per_second',
    env: 'BRIDGE_PUBLIC_PER_SECOND',
    kind: 'integer',
    fallback: String(limits.publicPerSecond),
    meaning: 'requests per second and address to endpoints without credentials',
  },
  {
    name: 'public_burst',
    env: 'BRIDGE_PUBLIC_BURST',
    kind: 'integer',
    fallback: String(limits.publicBurst),
    meaning: 'requests that an address may send to these endpoints in one burst',
  },
  {
    name: 'failed_auth_per_minute',
    env: 'BRIDGE_FAILED_AUTH_PER_MINUTE',
    kind: 'integer',
    fallback: String(limits.failedAuthPerMinute),
    meaning: 'failed authentications per minute and address before the answer is 429',
  },
  {
    name: 'max_waits',
    env: 'BRIDGE_MAX_WAITS',
    kind: 'integer',
    fallback: String(limits.waitsPerNode),
    meaning: 'long-polls, streams and sockets that may wait on this node at the same time',
  },
  {
    name: 'package_bytes',
    env: 'BRIDGE_PACKAGE_BYTES',
    kind: 'integer',
    fallback: String(limits.packageBytes),
    meaning: 'maximum bytes of one package',
  },
  {
    name: 'packages_bytes',
    env: 'BRIDGE_PACKAGES_BYTES',
    kind: 'integer',
    fallback: String(limits.packagesBytes),
    meaning: 'maximum bytes of all packages on this node, open offers included',
  },
  {
    name: 'sender_packages_bytes',
    env: 'BRIDGE_SENDER_PACKAGES_BYTES',
    kind: 'integer',
    fallback: '',
    meaning:
      "maximum bytes of one sender's packages, open offers included, by default a quarter of packages_bytes, but at least package_bytes",
  },
  {
    name: 'package_spare_bytes',
    env: 'BRIDGE_PACKAGE_SPARE_BYTES',
    kind: 'integer',
    fallback: String(limits.packageSpareBytes),
    meaning: 'free bytes that uploads must leave on the disk of the packages',
  },
  {
    name: 'reserve_bytes',
    env: 'BRIDGE_RESERVE_BYTES',
    kind: 'integer',
    fallback: String(limits.reserveBytes),
    meaning: 'size of the reserve file, which the node deletes when the disk is full, or 0 for none',
  },
  {
    name: 'metrics_port',
    env: 'BRIDGE_METRICS_PORT',
    kind: 'integer',
    fallback: '',
    meaning:
      'port of the Prometheus metrics on metrics_host, where 0 picks a free one. By default there are no metrics',
  },
  {
    name: 'metrics_host',
    env: 'BRIDGE_METRICS_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    meaning: 'address of the metrics port, which must be loopback',
  },
] as const satisfies readonly Setting[]

export type SettingName = (typeof settings)[number]['name']
