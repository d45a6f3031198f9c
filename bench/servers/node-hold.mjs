// A Node server that answers with two events and then keeps the response open: what an idle stream costs in Node
// before anybody has asked a provider for anything.
import { serveProxy } from '../support/proxy.mjs';

const frame = (type) => `data: {"type":"${type}"}\n\n`;

serveProxy((input, res) => {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  res.write(frame('RUN_STARTED'));
  res.write(frame('TEXT_MESSAGE_CONTENT'));
});
