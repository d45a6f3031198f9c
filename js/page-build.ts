/**
 * Whether Next.js builds pages in this process: it loads the modules of routes and runs none. A store that such a process opened
 * would take over the runs of the server, and cut them at its end.
 * Source: Next.js 16.4.6, `PHASE_PRODUCTION_BUILD`.
 */
export function isPageBuild(): boolean {
  return process.env['NEXT_PHASE'] === 'phase-production-build';
}
