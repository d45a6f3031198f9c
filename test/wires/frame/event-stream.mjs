// The framing of AWS event streams.
import { crc32 } from 'node:zlib';

function header(name, value) {
  const head = Buffer.from([
    name.length,
    ...Buffer.from(name),
    7,
    value.length >> 8,
    value.length & 255,
  ]);
  return Buffer.concat([head, Buffer.from(value)]);
}

/** One message: an event, or an exception of that name. */
export function awsMessage(kind, name, payload) {
  const named = kind === 'exception' ? ':exception-type' : ':event-type';
  const headers = Buffer.concat([
    header(':message-type', kind),
    header(named, name),
    header(':content-type', 'application/json'),
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  const message = Buffer.alloc(16 + headers.length + body.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(headers.length, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  headers.copy(message, 12);
  body.copy(message, 12 + headers.length);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return message;
}
