// A made-up history: questions, answers, and a tool call with its result in every fourth exchange.
import { randomFrom } from './streams.mjs';

export function makeHistory(count) {
  const random = randomFrom(count);
  const prose = (length) => {
    let text = '';
    while (text.length < length)
      text += `${Math.floor(random() * 1e6).toString(36)} café "quoted"\n`;
    return text.slice(0, length);
  };
  const messages = [{ id: 'm0', role: 'system', content: prose(200) }];
  while (messages.length < count) {
    const at = messages.length;
    const id = (offset) => `m${at + offset}`;
    messages.push({ id: id(0), role: 'user', content: prose(150) });
    if (at % 4 === 1) {
      const call = { name: 'search', arguments: JSON.stringify({ query: prose(60) }) };
      const toolCalls = [{ id: `call_${at}`, type: 'function', function: call }];
      messages.push({ id: id(1), role: 'assistant', toolCalls });
      messages.push({ id: id(2), role: 'tool', toolCallId: `call_${at}`, content: prose(900) });
    }
    messages.push({ id: id(3), role: 'assistant', content: prose(1200) });
  }
  return messages;
}
