// A loopback vendor: each conversation has an address of its own, with the answers that it gets.
import { createServer } from 'node:http';

/** Starts it: `open(answers)` gives the address of a conversation and the requests that came to it. */
export async function startVendor() {
  const conversations = new Map();
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const [, id = '', path = ''] = /^\/(c\d+)(.*)$/s.exec(request.url) ?? [];
      const conversation = conversations.get(id);
      const answer = conversation?.answers.shift();
      if (!answer) return response.writeHead(404).end('{}');
      const body = Buffer.concat(chunks).toString('utf8');
      conversation.requests.push({ path, headers: request.headers, body: parsed(body) });
      const { status = 200, type, headers = {}, bytes } = answer;
      response.writeHead(status, { 'content-type': type, ...headers }).end(bytes);
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  let count = 0;
  return {
    open(answers) {
      const id = `c${(count += 1)}`;
      const conversation = { answers: [...answers], requests: [] };
      conversations.set(id, conversation);
      const url = `http://127.0.0.1:${server.address().port}/${id}`;
      return { url, requests: conversation.requests, close: () => conversations.delete(id) };
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** Server-sent events of records, each with its name where it has one. */
export function serverSentEvents(records, { name = () => undefined, end = '' } = {}) {
  const blocks = records.map((record) => {
    const event = name(record);
    return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(record)}\n\n`;
  });
  return Buffer.from(blocks.join('') + end);
}
