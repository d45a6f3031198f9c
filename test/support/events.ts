// Reads AG-UI server-sent events in tests.
import type { Content } from './reference';

export type Event = Record<string, unknown> & { type: string };

/** The events of a whole body; comments are passed over. */
export function readEvents(text: string): Event[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => JSON.parse(block.slice('data: '.length)) as Event);
}

/** Text, reasoning and tool calls of a run. */
export function contentOf(events: readonly Event[]): Content {
  const content: Content = { text: '', reasoning: '', calls: [] };
  for (const event of events) {
    const delta = String(event['delta']);
    if (event.type === 'TEXT_MESSAGE_CONTENT') content.text += delta;
    if (event.type === 'REASONING_MESSAGE_CONTENT') content.reasoning += delta;
    if (event.type === 'TOOL_CALL_START') {
      const { toolCallId, toolCallName } = event;
      content.calls.push({ id: String(toolCallId), name: String(toolCallName), args: '' });
    }
    const call = content.calls.find((entry) => entry.id === event['toolCallId']);
    if (event.type === 'TOOL_CALL_ARGS' && call !== undefined) call.args += delta;
  }
  return content;
}
