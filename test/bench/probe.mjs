// Loaded into each process that is measured: tells what it used, and ends it with its parent. The text of a question is
// `usage`, or `collected` for the memory after a forced collection (which needs --expose-gc).
process.on('message', (question) => {
  if (question === 'collected') {
    globalThis.gc()
    globalThis.gc()
  }
  const { user, system } = process.cpuUsage()
  process.send({ cpuMs: (user + system) / 1000, residentKiB: process.memoryUsage.rss() / 1024 })
})
process.once('disconnect', () => process.exit(3))
// It ends when it is told to, and does not wait for its parent.
process.channel.unref()
