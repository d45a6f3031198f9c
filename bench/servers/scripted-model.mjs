// A model over HTTP that answers at once: nine times with a call of the tool `noop`, then with a text. Which
// turn it is, the results in the request say. Speaks OpenAI's chat API, streamed; prints its address.
import { createServer } from 'node:http';

const steps = 10;

const frame = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const end =
  'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}\n\n' +
  'data: [DONE]\n\n';

const answers = Array.from({ length: steps }, (_, turn) => {
  const first = frame({ role: 'assistant', content: '' });
  if (turn === steps - 1) return first + frame({ content: 'The end.' }) + frame({}, 'stop') + end;
  const head = { index: 0, id: `c${turn}`, type: 'function' };
  const named = { ...head, function: { name: 'noop', arguments: '' } };
  const args = { index: 0, function: { arguments: JSON.stringify({ value: `step ${turn}` }) } };
  return (
    first +
    frame({ tool_calls: [named] }) +
    frame({ tool_calls: [args] }) +
    frame({}, 'tool_calls') +
    end
  );
});

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => (body += text));
  request.on('end', () => {
    const turn = body.split('"tool_call_id"').length - 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(answers[turn]);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send(`http://127.0.0.1:${server.address().port}/v1`);
});
