// Message formats: canonical messages to OpenAI's chat shape in four ways; microseconds a history.
import { createRequire } from 'node:module';

import { importMillrace, millracePath } from '../support/packages.mjs';
import { makeHistory } from '../support/history.mjs';
import { bestPass, options, report } from '../support/worker.mjs';

const { count, seconds } = options;
const history = makeHistory(count);
const text = JSON.stringify(history);
const { openAIMessageFormat } = await importMillrace();
// What fetchLLM and the server call: JSON text in, JSON text out.
const { addon } = createRequire(millracePath)('./addon.js');
const engine = addon();
const openui = (await import('@openuidev/react-headless')).openAIMessageFormat;

function byHand(messages) {
  return messages.map((message) => {
    if (message.role === 'tool') {
      return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
    }
    if (message.role !== 'assistant') return { role: message.role, content: message.content };
    const { content = null, toolCalls = [] } = message;
    if (toolCalls.length === 0) return { role: 'assistant', content };
    return { role: 'assistant', content, tool_calls: toolCalls };
  });
}

const ways = {
  objectsOurs: () => openAIMessageFormat.toApi(history),
  objectsOpenui: () => openui.toApi(history),
  objectsByHand: () => byHand(history),
  bodyOurs: () => engine.toApi('openai', JSON.stringify(history)),
  bodyByHand: () => JSON.stringify(byHand(history)),
  textOurs: () => engine.toApi('openai', text),
  textByHand: () => JSON.stringify(byHand(JSON.parse(text))),
};

const expected = JSON.stringify(byHand(history));
for (const [name, way] of Object.entries(ways)) {
  const made = way();
  const got = typeof made === 'string' ? made : JSON.stringify(made);
  if (got !== expected) throw new Error(`${name} made something else: ${got.slice(0, 300)}`);
}

const times = {};
const rounds = Math.max(1, Math.round(2000 / count));
for (const [name, way] of Object.entries(ways)) {
  const best = await bestPass(seconds, () => {
    for (let i = 0; i < rounds; i++) way();
  });
  times[name] = (best / rounds) * 1e6;
}
report({ bytes: text.length, ...times });
