// Loaded into each measured process: reports its usage, and ends it with its parent. The text of a request is
// `usage`, or `collected` for the memory after a forced collection (which requires --expose-gc).
process.on('message', (question) => {
  if (question === 'collected') {
    globalThis.gc()
    globalThis.gc()
  }
  const { user, system } = process.cpuUsage()
  process.send({ cpuMs: (user + system) / 1000, residentKiB: process.memoryUsage.rss() / 1024 })
})
process.once('disconnect', () => process.exit(3))
// The process ends on a signal and does not wait for its parent.
process.channel.unref()
