// One connection to a server under measurement, which carries one request after the other: as little work as possible, since
// client and server share the cores.
import net from 'node:net';

const headEnd = '\r\n\r\n';
const chunkedEnd = Buffer.from('\r\n0\r\n\r\n');

export async function openLane(port) {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  let current;
  const fail = (error) => current?.reject(error ?? new Error('the server closed the connection'));
  socket.on('data', (bytes) => current?.take(bytes));
  socket.on('error', fail);
  socket.on('close', () => fail());
  return {
    // Gives { status, text }; onBody is called with the first bytes of the body.
    ask(request, onBody) {
      return new Promise((resolve, reject) => {
        const done = (answer) => {
          current = undefined;
          resolve(answer);
        };
        current = { take: reader(done, onBody), reject };
        socket.write(textOf(request));
      });
    },
    close: () => socket.destroy(),
  };
}

function textOf({ method, path, headers = {}, body }) {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}

// Reads one response. The chunks of a body keep their sizes between them: only marks are looked for in it.
function reader(done, onBody) {
  const pieces = [];
  let [length, tail, status] = [0, Buffer.alloc(0), 0];
  let rest; // bytes of the body to come, where its length is known
  let isBegun = false;
  const whole = () => Buffer.concat(pieces).toString('latin1');
  return (bytes) => {
    pieces.push(bytes);
    length += bytes.length;
    if (status === 0) {
      const text = whole();
      const at = text.indexOf(headEnd);
      if (at < 0) return;
      status = Number(text.slice(9, 12));
      const known = /content-length: *(\d+)/i.exec(text.slice(0, at));
      if (known) rest = Number(known[1]) + at + headEnd.length;
      if (length > at + headEnd.length) isBegun = true;
    } else {
      isBegun = true;
    }
    if (isBegun && onBody) {
      onBody();
      onBody = undefined;
    }
    tail = Buffer.concat([tail, bytes]).subarray(-chunkedEnd.length);
    const isOver = rest === undefined ? tail.equals(chunkedEnd) : length >= rest;
    if (isOver) done({ status, text: whole() });
  };
}
