/** Stands for `rclone serve s3` in a container: the strict store of tests with the key of RCLONE_AUTH_KEY. */
import { startObjectStore } from '../../support/object-store.ts'

const [AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = ''] = (process.env.RCLONE_AUTH_KEY ?? '').split(',')
if (AWS_SECRET_ACCESS_KEY === '') throw new Error('RCLONE_AUTH_KEY has no key')
const [, port] = /--addr :(\d+) /.exec(process.argv.join(' ')) ?? []
if (port === undefined) throw new Error('--addr names no port')
process.on('SIGTERM', () => process.exit())
await startObjectStore(Number(port), undefined, {
  host: '0.0.0.0',
  keys: { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY },
  region: 'us-east-1',
})
