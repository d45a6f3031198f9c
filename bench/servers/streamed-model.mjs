// A model over HTTP that streams as many pieces of text as the last message of the request names, as fast as they are taken.
// Speaks OpenAI's chat API; prints its address.
import { once } from 'node:events';
import { createServer } from 'node:http';

const chunk = (delta, finish = null) =>
  `data: ${JSON.stringify({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'streamed',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`;
const piece = chunk({ content: ' word' });
const piecesAtOnce = 100;

async function answer(pieces, response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ role: 'assistant', content: '' }));
  for (let sent = 0; sent < pieces; sent += piecesAtOnce) {
    const text = piece.repeat(Math.min(piecesAtOnce, pieces - sent));
    if (!response.write(text)) await once(response, 'drain');
  }
  response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => (body += text));
  request.on('end', () => {
    const { content } = JSON.parse(body).messages.at(-1);
    void answer(Number(content), response);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send(`http://127.0.0.1:${server.address().port}/v1`);
});
