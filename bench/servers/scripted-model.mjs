// A model over HTTP that answers at once: nine times with a call of the tool `noop`, then with a text. Speaks
// OpenAI's chat API, streamed; prints its address.
import { createServer } from 'node:http';

import { answerTo } from '../support/scripted-answers.mjs';

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => (body += text));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(answerTo(body));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send(`http://127.0.0.1:${server.address().port}/v1`);
});
