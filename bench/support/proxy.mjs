// The frame of every proxy under measurement: an HTTP server for POST with a JSON body, and what the parent asks:
//   { resetDelay: true }   starts measuring the event loop's delay
//   { delay: true }        answers with its 99th percentile in milliseconds
//   { collect: true }      collects garbage, so that resident memory can be compared (collect.mjs)
import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { collect } from './collect.mjs';

// The histogram holds the time between two samples: what is over the interval is delay.
const intervalMs = 10;
const delay = monitorEventLoopDelay({ resolution: intervalMs });

export function serveProxy(handle) {
  const server = createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (text) => (body += text));
    req.on('end', () => handle(JSON.parse(body), res, req));
  });
  server.keepAliveTimeout = 60_000;
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
    process.send({ port: server.address().port });
  });
}

process.on('message', async (message) => {
  if (message.resetDelay) {
    delay.enable();
    delay.reset();
    process.send({ reset: true });
  }
  if (message.delay) {
    const p99 = Math.max(0, delay.percentile(99) / 1e6 - intervalMs);
    delay.disable();
    process.send({ p99 });
  }
  if (message.collect) {
    await collect();
    process.send({ collected: true });
  }
});
