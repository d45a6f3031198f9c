// What plain JavaScript costs at least. The floor only splits records (eventsource-parser) and reads them
// (JSON.parse). The converter does what a careful person writes by hand on top: it turns each record into AG-UI
// server-sent events, without errors, limits, ids of its own or repair.
import { TextDecoder } from 'node:util';

import { createParser } from 'eventsource-parser';

// Calls `take(record, name)` for each record of one body; feed() takes bytes.
export function floorReader(wire, take) {
  const decoder = new TextDecoder();
  if (wire === 'openai_chat_ndjson') return lineReader(decoder, take);
  const parser = createParser({
    onEvent(message) {
      if (message.data !== '[DONE]') take(JSON.parse(message.data), message.event);
    },
  });
  return { feed: (bytes) => parser.feed(decoder.decode(bytes, { stream: true })), finish() {} };
}

function lineReader(decoder, take) {
  let rest = '';
  const line = (text) => text.trim() !== '' && take(JSON.parse(text), '');
  return {
    feed(bytes) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop();
      for (const text of lines) line(text);
    },
    finish: () => line(rest),
  };
}

const frame = (event) => `data: ${JSON.stringify(event)}\n\n`;

function chat(write) {
  const id = 'msg-1';
  const calls = new Map();
  let text = false;
  let reasoning = false;
  const endReasoning = () => {
    if (reasoning) write(frame({ type: 'REASONING_MESSAGE_END', messageId: 'rs-1' }));
    reasoning = false;
  };
  const endText = () => {
    if (text) write(frame({ type: 'TEXT_MESSAGE_END', messageId: id }));
    text = false;
  };
  const onCall = (call) => {
    if (call.id) {
      endText();
      calls.set(call.index, call.id);
      write(
        frame({ type: 'TOOL_CALL_START', toolCallId: call.id, toolCallName: call.function.name }),
      );
    }
    const delta = call.function?.arguments;
    const toolCallId = calls.get(call.index);
    if (delta) write(frame({ type: 'TOOL_CALL_ARGS', toolCallId, delta }));
  };
  return (record) => {
    const choice = record.choices[0];
    if (!choice) return;
    const { content, reasoning_content: thought, tool_calls: list } = choice.delta;
    if (thought) {
      if (!reasoning)
        write(frame({ type: 'REASONING_MESSAGE_START', messageId: 'rs-1', role: 'reasoning' }));
      reasoning = true;
      write(frame({ type: 'REASONING_MESSAGE_CONTENT', messageId: 'rs-1', delta: thought }));
    }
    if (content) {
      endReasoning();
      if (!text) write(frame({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }));
      text = true;
      write(frame({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: content }));
    }
    if (list) for (const call of list) onCall(call);
    if (!choice.finish_reason) return;
    endReasoning();
    endText();
    for (const toolCallId of calls.values()) write(frame({ type: 'TOOL_CALL_END', toolCallId }));
  };
}

function responses(write) {
  const calls = new Map();
  return (record) => {
    const { item, item_id, delta } = record;
    switch (record.type) {
      case 'response.output_item.added':
        if (item.type === 'message') {
          write(frame({ type: 'TEXT_MESSAGE_START', messageId: item.id, role: 'assistant' }));
        } else if (item.type === 'function_call') {
          calls.set(item.id, item.call_id);
          write(
            frame({ type: 'TOOL_CALL_START', toolCallId: item.call_id, toolCallName: item.name }),
          );
        } else if (item.type === 'reasoning') {
          write(frame({ type: 'REASONING_MESSAGE_START', messageId: item.id, role: 'reasoning' }));
        }
        break;
      case 'response.output_text.delta':
        write(frame({ type: 'TEXT_MESSAGE_CONTENT', messageId: item_id, delta }));
        break;
      case 'response.output_text.done':
        write(frame({ type: 'TEXT_MESSAGE_END', messageId: item_id }));
        break;
      case 'response.reasoning_summary_text.delta':
        write(frame({ type: 'REASONING_MESSAGE_CONTENT', messageId: item_id, delta }));
        break;
      case 'response.reasoning_summary_text.done':
        write(frame({ type: 'REASONING_MESSAGE_END', messageId: item_id }));
        break;
      case 'response.function_call_arguments.delta':
        write(frame({ type: 'TOOL_CALL_ARGS', toolCallId: calls.get(item_id), delta }));
        break;
      case 'response.function_call_arguments.done':
        write(frame({ type: 'TOOL_CALL_END', toolCallId: calls.get(item_id) }));
    }
  };
}

function anthropic(write) {
  const blocks = new Map();
  let message = '';
  const start = {
    text: (id) => ({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }),
    thinking: (id) => ({ type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' }),
    tool_use: (id, block) => ({
      type: 'TOOL_CALL_START',
      toolCallId: id,
      toolCallName: block.name,
    }),
  };
  const piece = {
    text_delta: (id, { text }) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: text }),
    thinking_delta: (id, { thinking }) => ({
      type: 'REASONING_MESSAGE_CONTENT',
      messageId: id,
      delta: thinking,
    }),
    input_json_delta: (id, { partial_json }) => ({
      type: 'TOOL_CALL_ARGS',
      toolCallId: id,
      delta: partial_json,
    }),
  };
  const end = {
    text: (id) => ({ type: 'TEXT_MESSAGE_END', messageId: id }),
    thinking: (id) => ({ type: 'REASONING_MESSAGE_END', messageId: id }),
    tool_use: (id) => ({ type: 'TOOL_CALL_END', toolCallId: id }),
  };
  return (record) => {
    if (record.type === 'message_start') {
      message = record.message.id;
    } else if (record.type === 'content_block_start') {
      const { index, content_block: block } = record;
      const id = block.id ?? `${message}-${index}`;
      blocks.set(index, { id, type: block.type });
      if (start[block.type]) write(frame(start[block.type](id, block)));
    } else if (record.type === 'content_block_delta') {
      const event = piece[record.delta.type]?.(blocks.get(record.index).id, record.delta);
      if (event) write(frame(event));
    } else if (record.type === 'content_block_stop') {
      const { id, type } = blocks.get(record.index);
      if (end[type]) write(frame(end[type](id)));
    }
  };
}

function langgraph(write) {
  let open = '';
  const calls = new Map();
  return (record, name) => {
    if (name === 'end') {
      for (const toolCallId of calls.values()) write(frame({ type: 'TOOL_CALL_END', toolCallId }));
      if (open) write(frame({ type: 'TEXT_MESSAGE_END', messageId: open }));
    }
    if (name !== 'messages') return;
    const { id, content, tool_call_chunks: chunks } = record[0];
    if (open !== id) write(frame({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }));
    open = id;
    if (content) write(frame({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: content }));
    for (const chunk of chunks) {
      if (chunk.id) {
        calls.set(chunk.index, chunk.id);
        write(frame({ type: 'TOOL_CALL_START', toolCallId: chunk.id, toolCallName: chunk.name }));
      }
      const toolCallId = calls.get(chunk.index);
      if (chunk.args) write(frame({ type: 'TOOL_CALL_ARGS', toolCallId, delta: chunk.args }));
    }
  };
}

const converters = {
  openai_chat: chat,
  openai_chat_ndjson: chat,
  openai_responses: responses,
  anthropic,
  langgraph,
  ag_ui: (write) => (record) => write(frame(record)),
};

// As floorReader, but writes AG-UI frames (strings) to `write`.
export function converterReader(wire, write) {
  return floorReader(wire, converters[wire](write));
}
