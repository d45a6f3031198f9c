// Preloaded into every child: ends it when its parent goes away, and at a deadline.
const seconds = Number(process.env.MILLRACE_BENCH_SECONDS ?? 120);
setTimeout(() => process.exit(3), seconds * 1000).unref();
process.on('disconnect', () => process.exit(0));
