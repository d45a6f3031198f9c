// Recorded answers of providers, when the folder with them stands beside this repository (or is named by
// MILLRACE_RECORDINGS): one JSON record a line, framed here as its wire frames it.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TextEncoder } from 'node:util';

import { root } from './paths.mjs';

const folder = process.env.MILLRACE_RECORDINGS || join(root, '../shared/recordings');

const named = (record) => `event: ${record.type}\ndata: `;
const framings = {
  openai_chat: { prefix: () => 'data: ', end: 'data: [DONE]\n\n' },
  openai_responses: { prefix: named, end: '' },
  anthropic: { prefix: named, end: '' },
};

// The wire whose records look like this one, or undefined.
function wireOf(record) {
  const type = typeof record.type === 'string' ? record.type : '';
  if (type.startsWith('response.')) return 'openai_responses';
  if (type === 'message_start') return 'anthropic';
  return Array.isArray(record.choices) ? 'openai_chat' : undefined;
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

// The bodies of one wire; empty when there are none.
export function recordedStreams(wire) {
  if (!(wire in framings) || !existsSync(folder)) return [];
  const { prefix, end } = framings[wire];
  const encoder = new TextEncoder();
  const bodies = [];
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    if (!name.endsWith('.chunks.txt')) continue;
    const lines = readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean);
    const records = lines.map(parsed).filter(Boolean);
    // A recording with an unreadable record says little about speed.
    if (records.length < Math.max(lines.length, 1) || wireOf(records[0]) !== wire) continue;
    const frames = lines.map((line, index) => `${prefix(records[index])}${line}\n\n`);
    bodies.push(encoder.encode(frames.join('') + end));
  }
  return bodies;
}
