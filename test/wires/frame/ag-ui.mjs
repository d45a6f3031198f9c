// AG-UI as a source: its events through the run that the engine writes for a client of the same version.
import { createRequire } from 'node:module';

import { serverSentEvents } from './server.mjs';

const require = createRequire(import.meta.url);
const millrace = require('../../../dist/cjs/index.js');

const message = { messageId: 'm1' };
const call = { toolCallId: 'c1' };
const run = { threadId: 't', runId: 'r' };
const subagent = { subagentRunId: 's1', name: 'helper' };
const activity = { messageId: 'a1', activityType: 'plan' };

// What opens and closes that in which an event stands: names of events before it and behind it.
const places = {
  TEXT_MESSAGE_START: [[], ['TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END']],
  TEXT_MESSAGE_CONTENT: [['TEXT_MESSAGE_START'], ['TEXT_MESSAGE_END']],
  TEXT_MESSAGE_END: [['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT'], []],
  THINKING_END: [['THINKING_START'], []],
  THINKING_START: [[], ['THINKING_END']],
  THINKING_TEXT_MESSAGE_START: [['THINKING_START'], ['THINKING_TEXT_MESSAGE_END', 'THINKING_END']],
  THINKING_TEXT_MESSAGE_CONTENT: [
    ['THINKING_START', 'THINKING_TEXT_MESSAGE_START'],
    ['THINKING_TEXT_MESSAGE_END', 'THINKING_END'],
  ],
  THINKING_TEXT_MESSAGE_END: [['THINKING_START', 'THINKING_TEXT_MESSAGE_START'], ['THINKING_END']],
  TOOL_CALL_START: [[], ['TOOL_CALL_ARGS', 'TOOL_CALL_END']],
  TOOL_CALL_ARGS: [['TOOL_CALL_START'], ['TOOL_CALL_END']],
  TOOL_CALL_END: [['TOOL_CALL_START', 'TOOL_CALL_ARGS'], []],
  TOOL_CALL_RESULT: [['TOOL_CALL_START', 'TOOL_CALL_END'], []],
  REASONING_START: [[], ['REASONING_END']],
  REASONING_END: [['REASONING_START'], []],
  REASONING_MESSAGE_START: [['REASONING_START'], ['REASONING_MESSAGE_END', 'REASONING_END']],
  REASONING_MESSAGE_CONTENT: [
    ['REASONING_START', 'REASONING_MESSAGE_START'],
    ['REASONING_MESSAGE_END', 'REASONING_END'],
  ],
  REASONING_MESSAGE_END: [['REASONING_START', 'REASONING_MESSAGE_START'], ['REASONING_END']],
  ACTIVITY_DELTA: [['ACTIVITY_SNAPSHOT'], []],
  STEP_STARTED: [[], ['STEP_FINISHED']],
  STEP_FINISHED: [['STEP_STARTED'], []],
  SUBAGENT_STARTED: [[], ['SUBAGENT_FINISHED']],
  SUBAGENT_FINISHED: [['SUBAGENT_STARTED'], []],
  SUBAGENT_ERROR: [['SUBAGENT_STARTED'], []],
};

// Events that stand once in a run, and those that begin and end what another one shows.
const alone = ['RUN_STARTED', 'RUN_FINISHED', 'RUN_ERROR', 'MESSAGES_SNAPSHOT', 'RAW'];
const inPart = Object.keys(places).filter((name) => /_(START|END|STARTED|FINISHED)$/.test(name));

// The neighbours of an event, with its ids.
function neighbours(names, value) {
  const { messageId = message.messageId, toolCallId = call.toolCallId, stepName = 'step' } = value;
  const { subagentRunId = subagent.subagentRunId, activityType = activity.activityType } = value;
  const more = {
    TEXT_MESSAGE_START: { messageId, role: 'assistant' },
    TEXT_MESSAGE_CONTENT: { messageId, delta: 'Said.' },
    TOOL_CALL_START: { toolCallId, toolCallName: 'look' },
    TOOL_CALL_ARGS: { toolCallId, delta: '{}' },
    THINKING_TEXT_MESSAGE_CONTENT: { delta: 'Thought.' },
    REASONING_MESSAGE_START: { messageId, role: 'reasoning' },
    ACTIVITY_SNAPSHOT: { messageId, activityType, content: {} },
    STEP_STARTED: { stepName },
    STEP_FINISHED: { stepName },
    SUBAGENT_STARTED: { ...subagent, subagentRunId },
    SUBAGENT_FINISHED: { subagentRunId },
  };
  return names.map((type) => {
    const ids = type.startsWith('TOOL_CALL')
      ? { toolCallId }
      : type.startsWith('THINKING')
        ? {}
        : { messageId };
    return { type, ...(more[type] ?? ids) };
  });
}

// The rest of a subagent's event: it has to be known.
function introduced(value) {
  const { subagentRunId, parentSubagentRunId, type } = value;
  if (parentSubagentRunId !== undefined) {
    return introduced({ type: '', subagentRunId: parentSubagentRunId });
  }
  if (subagentRunId === undefined || type.startsWith('SUBAGENT')) return [[], []];
  return [
    [{ type: 'SUBAGENT_STARTED', ...subagent, subagentRunId }],
    [{ type: 'SUBAGENT_FINISHED', subagentRunId }],
  ];
}

function recordsOf(values) {
  const [first] = values;
  if (first.type === 'RUN_STARTED') return [first, { type: 'RUN_FINISHED', ...idsOf(first) }];
  if (first.type === 'RUN_FINISHED' || first.type === 'RUN_ERROR') {
    return [{ type: 'RUN_STARTED', ...run, ...idsOf(first) }, first];
  }
  const called = new Set();
  const inner = values.flatMap((value) => {
    const [before, behind] = placesOf(value, called);
    const [opened, closed] = introduced(value);
    return [
      ...opened,
      ...neighbours(before, value),
      value,
      ...neighbours(behind, value),
      ...closed,
    ];
  });
  return [{ type: 'RUN_STARTED', ...run }, ...inner, { type: 'RUN_FINISHED', ...run }];
}

// A result of a call that came before needs no other one.
function placesOf({ type, toolCallId }, called) {
  if (type === 'TOOL_CALL_RESULT' && called.has(toolCallId)) return [[], []];
  called.add(toolCallId);
  return places[type] ?? [[], []];
}

function idsOf({ threadId = run.threadId, runId = run.runId }) {
  return { threadId, runId };
}

const bytes = (records) => ({ type: 'text/event-stream', bytes: serverSentEvents(records) });

async function eventsOf(response) {
  const text = await response.text();
  return text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
}

/** The wire of a version of AG-UI. */
export function agUiWire({ name, title, sdk, EventSchemas, protocolVersion }) {
  return {
    name,
    title,
    sdk,
    types: `import type { AGUIEvent } from '${sdk}';\nexport type Event = AGUIEvent;\n`,
    reads: 'agUIAdapter',
    rules: {
      // What is in messages and input has pages of its own; a copy of a record is none of its members.
      without: [/:RAW$/, /\.rawEvent$/],
      values: [
        [/:ACTIVITY_(SNAPSHOT\.content|DELTA\.patch)/, valueOf],
        [/:STATE_DELTA\.delta/, valueOf],
        [/MESSAGES_SNAPSHOT\.messages$/, () => []],
        [/RUN_STARTED\.input$/, inputOf],
        [/RUN_STARTED\.protocolVersion$/, () => protocolVersion],
      ],
    },
    subjects: [{ root: 'event', type: 'Event', place: (value) => [value] }],
    kinds: {
      type: 'Event',
      root: 'event',
      without: [...alone, ...inPart],
      place: (values) => values,
      back: false,
      callOf: (label) => (label === 'TOOL_CALL_RESULT' ? 'TOOL_CALL_ARGS' : undefined),
      link: (call, result) => [call, { ...result, toolCallId: call.toolCallId }],
    },
    records: recordsOf,
    bytes,
    async read({ type, bytes: body }) {
      const response = new Response(body, { headers: { 'content-type': type } });
      const adapter = millrace.agUIAdapter();
      const written = millrace.toAGUIResponse(response, {
        adapter,
        ...(protocolVersion ? { protocolVersion } : {}),
      });
      return { events: await eventsOf(written), report: {} };
    },
    async readStream(url) {
      const events = await eventsOf(await fetch(url, { method: 'POST' }));
      return events.map((event) => EventSchemas.parse(event));
    },
    turn: () => [],
    defaults: [[/CHUNK\.role$/, 'assistant']],
    structural: [/:RUN_/, /(messageId|toolCallId|stepName|activityType|subagentRunId)$/],
    carriers: [
      [/CHUNK\.delta$/, /CONTENT\.delta$|ARGS\.delta$/],
      [/ACTIVITY_SNAPSHOT\.content$/, /^ACTIVITY_SNAPSHOT\.content/],
      [/ACTIVITY_DELTA\.patch$/, /^ACTIVITY_DELTA\.patch/],
      [/STATE_DELTA\.delta$/, /^STATE_DELTA\.delta/],
      [/RUN_STARTED\.input$/, /^millrace\.source_run\.value\.input/],
    ],
  };
}

function inputOf({ text }) {
  const lists = { messages: [], tools: [], context: [] };
  return { ...run, ...lists, state: { seen: text }, forwardedProps: {} };
}

// Patches and the content that they change.
function valueOf({ text }, row) {
  if (row.endsWith('content')) return { [text]: text };
  return [{ op: 'add', path: `/${text}`, value: text }];
}
