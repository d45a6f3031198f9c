// HTTPS through the engine inside this Node, whose own OpenSSL must not get in the way: plain, gzip, and a
// certificate of an authority that is not trusted.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { fetchLLM, openAIAdapter } from 'millrace';

const answer = 'Hello over TLS';
const self = fileURLToPath(import.meta.url);
const [role, url] = process.argv.slice(2);
if (role === 'client') await client(url);
else await main();

// Prints the text, or the error's code.
async function client(url) {
  const llm = fetchLLM({ url, streamAdapter: openAIAdapter(), transport: 'engine' });
  let text = '';
  try {
    const { signal } = new AbortController();
    const messages = [{ id: '1', role: 'user', content: 'Hi' }];
    const response = await llm.send({ threadId: 't', messages, signal });
    for await (const event of llm.streamProtocol.parse(response)) {
      if (event.type === 'TEXT_MESSAGE_CONTENT') text += event.delta;
    }
  } catch (error) {
    text = `error ${error.code}`;
  }
  process.stdout.write(text);
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tls-'));
  const server = createServer(makeCertificates(folder), respond);
  try {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const base = `https://localhost:${server.address().port}`;
    const trusted = join(folder, 'ca.pem');
    assert.equal(await request(`${base}/plain`, trusted), answer);
    assert.equal(await request(`${base}/gzip`, trusted), answer);
    assert.match(
      await request(`${base}/plain`, join(folder, 'other.pem')),
      /^error .*(tls|certificate)/,
    );
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

// Extra authorities are read when a process starts, so each question has a process of its own.
async function request(url, authority) {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: authority };
  const child = spawn(process.execPath, [self, 'client', url], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0);
  return text;
}

function respond(request, response) {
  const chunks = answer.split(' ').map((word, at) => {
    const delta = { content: at === 0 ? word : ` ${word}` };
    return `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })}\n\n`;
  });
  const end = { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const body = Buffer.from(`${chunks.join('')}data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
  const zipped = request.url === '/gzip';
  request.resume();
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    ...(zipped ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(zipped ? gzipSync(body) : body);
}

// An authority, a certificate of it for localhost, and an authority that has nothing to do with it.
function makeCertificates(folder) {
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  for (const name of ['ca', 'other']) {
    const subject = ['-subj', `/CN=millrace test ${name}`, '-days', '2'];
    openssl('req', '-x509', ...key, ...subject, '-keyout', `${name}.key`, '-out', `${name}.pem`);
  }
  openssl('req', ...key, '-subj', '/CN=localhost', '-keyout', 'server.key', '-out', 'server.csr');
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
  openssl(
    'x509',
    '-req',
    '-in',
    'server.csr',
    ...signing,
    '-extfile',
    'names',
    '-out',
    'server.pem',
  );
  const read = (name) => readFileSync(join(folder, name));
  return { key: read('server.key'), cert: read('server.pem') };
}
