// Finds the recorded provider streams beside the repository; they are not part of it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** One recorded answer: JSON records without their framing. */
export interface Recording {
  readonly name: string;
  /** Undefined when no adapter reads its wire yet. */
  readonly wire: string | undefined;
  readonly lines: readonly string[];
}

const folder =
  process.env['MILLRACE_RECORDINGS'] ?? resolve(__dirname, '../../../shared/recordings');

/** True when the recordings are there. */
export const haveRecordings = existsSync(folder);

/** The records that are JSON; some recordings hold one that is not. */
export function records(lines: readonly string[]): Record<string, unknown>[] {
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}

function wireOf(lines: readonly string[]): string | undefined {
  const all = records(lines);
  const has = (test: (record: Record<string, unknown>) => boolean): boolean => all.some(test);
  if (has((record) => Array.isArray(record['choices']))) return 'openai_chat';
  if (has((record) => record['type'] === 'message_start')) return 'anthropic';
  if (has((record) => String(record['type']).startsWith('response.'))) return 'openai_responses';
  if (has((record) => record['type'] === 'error')) return 'openai_responses';
  if (has((record) => Array.isArray(record['candidates']))) return 'gemini';
  if (has((record) => typeof record['event_type'] === 'string')) return 'gemini_interactions';
  if (has((record) => record['type'] === 'message-start')) return 'cohere';
  if (has((record) => 'contentBlockDelta' in record)) return 'bedrock_converse';
  return undefined;
}

/** Every recording, sorted by name. */
export function recordings(): Recording[] {
  if (!haveRecordings) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) =>
      readdirSync(join(folder, entry.name)).map((file) => `${entry.name}/${file}`),
    )
    .sort()
    .map((name) => {
      const lines = readFileSync(join(folder, name), 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '');
      return { name, wire: wireOf(lines), lines };
    });
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** One message of the AWS event stream encoding. */
export function awsMessage(eventType: string, payload: string): Buffer {
  const header = (name: string, value: string): Buffer => {
    const bytes = Buffer.from(`.${name}\u0007..${value}`);
    bytes[0] = name.length;
    bytes.writeUInt16BE(value.length, name.length + 2);
    return bytes;
  };
  const headers = Buffer.concat([
    header(':message-type', 'event'),
    header(':event-type', eventType),
    header(':content-type', 'application/json'),
  ]);
  const body = Buffer.from(payload);
  const message = Buffer.alloc(16 + headers.length + body.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(headers.length, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  headers.copy(message, 12);
  body.copy(message, 12 + headers.length);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return message;
}

/** The bytes as the provider sent them. */
export function framed(recording: Recording): Buffer {
  if (recording.wire === 'bedrock_converse') {
    return Buffer.concat(
      records(recording.lines).flatMap((record) =>
        Object.entries(record).map(([name, value]) => awsMessage(name, JSON.stringify(value))),
      ),
    );
  }
  const blocks = recording.lines.map((line) => {
    const type = /^\{"type":"([^"]+)"/.exec(line)?.[1];
    const named = recording.wire !== 'openai_chat' && type !== undefined;
    return `${named ? `event: ${type}\n` : ''}data: ${line}\n\n`;
  });
  if (recording.wire === 'openai_chat') blocks.push('data: [DONE]\n\n');
  return Buffer.from(blocks.join(''));
}

/** Cuts the bytes at random; the seed makes it repeatable. */
export function* randomPieces(bytes: Buffer, seed: number): Generator<Buffer> {
  let state = seed >>> 0;
  for (let at = 0; at < bytes.length;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const size = 1 + ((state >>> 16) % 509);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}
