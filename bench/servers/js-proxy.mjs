// The hand-written JavaScript proxy that Millrace is compared with: http.request to the provider, converted with
// JSON.parse and string pieces, and written to the reader with res.write, a call a read.
import http from 'node:http';
import { StringDecoder } from 'node:string_decoder';

import { serveProxy } from '../support/proxy.mjs';

const { provider } = JSON.parse(process.argv[2]);
const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });

class Converter {
  constructor(write) {
    this.write = write;
    this.decoder = new StringDecoder('utf8');
    this.rest = '';
    this.open = false;
    this.prefix = '';
  }
  feed(bytes) {
    const lines = (this.rest + this.decoder.write(bytes)).split('\n');
    this.rest = lines.pop();
    let out = '';
    for (const line of lines) {
      if (line.startsWith('data: {')) out += this.convert(JSON.parse(line.slice(6)));
    }
    if (out) this.write(out);
  }
  convert(record) {
    const choice = record.choices[0];
    if (!choice) return '';
    let out = '';
    if (choice.delta.content) {
      if (!this.open) out += this.start(record.id);
      out += `${this.prefix}${JSON.stringify(choice.delta.content)}}\n\n`;
    }
    if (choice.finish_reason && this.open) {
      this.open = false;
      out += `data: {"type":"TEXT_MESSAGE_END","messageId":"${this.id}"}\n\n`;
    }
    return out;
  }
  start(id) {
    this.open = true;
    this.id = id;
    this.prefix = `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"${id}","delta":`;
    return `data: {"type":"TEXT_MESSAGE_START","messageId":"${id}","role":"assistant"}\n\n`;
  }
}

const event = (type, { threadId, runId }) =>
  `data: ${JSON.stringify({ type, threadId, runId })}\n\n`;

serveProxy((input, res) => {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  res.write(event('RUN_STARTED', input));
  const body = JSON.stringify({ model: 'example', stream: true, messages: input.messages });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const request = http.request(`${provider}/chat/completions`, { method: 'POST', agent, headers });
  const fail = (error) => {
    res.write(`data: ${JSON.stringify({ type: 'RUN_ERROR', message: error.message })}\n\n`);
    res.end();
  };
  request.on('error', fail);
  request.on('response', (response) => {
    const converter = new Converter((text) => res.write(text));
    response.on('data', (bytes) => converter.feed(bytes));
    response.on('error', fail);
    response.on('end', () => res.end(event('RUN_FINISHED', input)));
  });
  res.on('close', () => request.destroy());
  request.end(body);
});
