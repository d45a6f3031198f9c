// An answer of each of three vendors with every kind of part that the engine knows of it.
import { sse } from './responses';

export type Json = Record<string, unknown>;

const usage = { input_tokens: 1, output_tokens: 1 };
/** The image that OpenAI's tool made. */
export const png = 'iVBORw0KGgo=';

/** Members that no types of the vendor list; they begin with z. */
export const brandNew = (vendor: string): Json => ({
  [`zz_${vendor}`]: 7,
  [`zy_${vendor}`]: ['w', { a: false }],
});

const ranByClaude = (
  id: string,
  name: string,
  input: Json,
  result: Json,
  use: Json = {},
): Json[] => [
  { type: 'server_tool_use', id, name, input, ...use },
  { tool_use_id: id, ...result },
];

/** Reasoning, a compaction, tools that Anthropic ran and that failed, a cited text, calls of the host's. */
export const claudeBlocks: Json[] = [
  { type: 'compaction', content: 'Claude summed up.', encrypted_content: 'Y29tcA==' },
  {
    ...{ type: 'thinking', thinking: 'Claude ponders.', signature: 'Y2xhdWRl' },
    ...brandNew('anthropic'),
  },
  { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
  { type: 'text', text: 'Claude looks it up.' },
  ...ranByClaude(
    'srvtoolu_1',
    'web_search',
    { query: 'rain' },
    {
      type: 'web_search_tool_result',
      content: [
        {
          type: 'web_search_result',
          url: 'https://rain.example',
          title: 'Rain',
          encrypted_content: 'ZW5j',
        },
      ],
    },
  ),
  ...ranByClaude(
    'srvtoolu_2',
    'web_fetch',
    { url: 'https://fetch.example' },
    {
      type: 'web_fetch_tool_result',
      content: {
        type: 'web_fetch_result',
        url: 'https://fetch.example',
        content: {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'fetched words' },
        },
      },
    },
  ),
  ...ranByClaude(
    'srvtoolu_3',
    'bash_code_execution',
    { command: 'echo fifty' },
    {
      type: 'bash_code_execution_tool_result',
      content: {
        type: 'bash_code_execution_result',
        stdout: 'fifty',
        stderr: '',
        return_code: 0,
        content: [],
      },
    },
  ),
  ...ranByClaude(
    'srvtoolu_4',
    'text_editor_code_execution',
    { command: 'view', path: '/lost' },
    {
      type: 'text_editor_code_execution_tool_result',
      content: {
        type: 'text_editor_code_execution_tool_result_error',
        error_code: 'file_not_found',
      },
    },
  ),
  ...ranByClaude(
    'srvtoolu_5',
    'tool_search_tool_regex',
    { query: 'loo' },
    {
      type: 'tool_search_tool_result',
      content: {
        type: 'tool_search_tool_search_result',
        tool_references: [{ type: 'tool_reference', tool_name: 'look' }],
      },
    },
  ),
  { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'ask', server_name: 'wiki', input: { q: 'dew' } },
  {
    type: 'mcp_tool_result',
    tool_use_id: 'mcptoolu_1',
    is_error: false,
    content: [{ type: 'text', text: 'dew is water' }],
  },
  { type: 'container_upload', file_id: 'file_c' },
  {
    type: 'text',
    text: 'Claude found rain.',
    citations: [
      {
        type: 'web_search_result_location',
        url: 'https://rain.example',
        title: 'Rain',
        encrypted_index: 'aWR4',
        cited_text: 'rain',
      },
    ],
    ...brandNew('anthropic'),
  },
  {
    ...{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sky' } },
    ...brandNew('anthropic'),
  },
];

// A block as it begins, and what a stream adds to it.
const blockEvents = (block: Json, index: number): Json[] => {
  const { type, text, citations, thinking, signature, input, ...rest } = block as {
    type: string;
    text?: string;
    citations?: Json[];
    thinking?: string;
    signature?: string;
    input?: Json;
  };
  const deltas: Json[] = [];
  if (thinking) deltas.push({ type: 'thinking_delta', thinking });
  if (signature) deltas.push({ type: 'signature_delta', signature });
  for (const citation of citations ?? []) {
    deltas.push({ type: 'citations_delta', citation });
  }
  if (text) deltas.push({ type: 'text_delta', text });
  if (input) deltas.push({ type: 'input_json_delta', partial_json: JSON.stringify(input) });
  const empty = {
    ...(text && { text: '' }),
    ...(citations && { citations: [] }),
    ...(thinking && { thinking: '', signature: '' }),
    ...(input && { input: {} }),
  };
  return [
    { type: 'content_block_start', index, content_block: { type, ...rest, ...empty } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
};
export const claude = (...blocks: Json[]): string =>
  sse(
    { type: 'message_start', message: { id: 'msg_c', role: 'assistant', content: [], usage } },
    ...blocks.flatMap(blockEvents),
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', container: { id: 'container_c', expires_at: 'soon' } },
      usage,
    },
    { type: 'message_stop' },
  );

const completed = { status: 'completed' };
const shellOutput = { stdout: 'shell files', stderr: '', outcome: { type: 'exit', exit_code: 0 } };

/** Reasoning, a compaction, tools that OpenAI ran and that failed, a message, calls of each kind of the host's. */
export const openaiItems: Json[] = [
  { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAcmp' },
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'GPT ponders.', ...brandNew('openai') }],
    encrypted_content: 'gAAAArs1',
    ...brandNew('openai'),
  },
  {
    ...{ type: 'web_search_call', id: 'ws_1', ...completed },
    action: { type: 'search', query: 'snow' },
  },
  {
    ...{ type: 'file_search_call', id: 'fs_1', ...completed },
    queries: ['terms'],
    results: [{ file_id: 'file_o', filename: 'terms.md', score: 0.5, text: 'a passage' }],
  },
  {
    ...{ type: 'code_interpreter_call', id: 'ci_1', ...completed },
    ...{ code: '6*7', container_id: 'cntr_1' },
    outputs: [{ type: 'logs', logs: 'forty-two' }],
  },
  {
    ...{ type: 'image_generation_call', id: 'ig_1', ...completed },
    ...{ revised_prompt: 'a snowman', result: png, output_format: 'png' },
  },
  {
    ...{ type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'deep' },
    tools: [{ name: 'dig', input_schema: { type: 'object' } }],
  },
  {
    ...{ type: 'mcp_call', id: 'mcp_1', server_label: 'deep', name: 'dig' },
    ...{ arguments: '{"in":"snow"}', output: 'a mammoth' },
  },
  {
    ...{ type: 'mcp_call', id: 'mcp_2', server_label: 'deep', name: 'drill', status: 'failed' },
    ...{ arguments: '{}', error: { type: 'mcp_tool_execution_error', content: [] } },
  },
  {
    ...{ type: 'shell_call', id: 'sh_1', call_id: 'call_sh', ...completed },
    action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
    environment: { type: 'container_reference', container_id: 'cntr_2' },
  },
  {
    ...{ type: 'shell_call_output', id: 'sho_1', call_id: 'call_sh', ...completed },
    ...{ max_output_length: null, output: [shellOutput] },
  },
  {
    type: 'message',
    id: 'msg_o',
    role: 'assistant',
    status: 'completed',
    content: [
      {
        type: 'output_text',
        text: 'GPT found snow.',
        annotations: [
          {
            type: 'url_citation',
            url: 'https://s.example',
            title: 'S',
            start_index: 0,
            end_index: 3,
          },
        ],
        ...brandNew('openai'),
      },
      { type: 'refusal', refusal: 'No more.' },
    ],
    ...brandNew('openai'),
  },
  {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'look',
    arguments: '{"at":"hill"}',
    ...brandNew('openai'),
  },
  { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'note', input: 'plain words' },
  {
    ...{ type: 'apply_patch_call', id: 'ap_1', call_id: 'call_3', ...completed },
    operation: { type: 'delete_file', path: 'old.txt' },
  },
];
export const gpt = (...output: Json[]): string =>
  sse(
    { type: 'response.created', response: { id: 'resp_1' } },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } },
  );

/** Reasoning, texts and calls with signatures, tools that Google ran and that failed, media. */
export const geminiParts: Json[] = [
  JSON.parse('{"text":"Gemini ponders.","thought":true,"thoughtSignature":"c2lnMA=="}') as Json,
  { text: 'Gemini found hail.', thoughtSignature: 'c2lnMQ==', ...brandNew('google') },
  { executableCode: { id: 'e1', language: 'PYTHON', code: '2**5' } },
  { codeExecutionResult: { id: 'e1', outcome: 'OUTCOME_OK', output: 'thirty-two' } },
  { executableCode: { id: 'e2', language: 'PYTHON', code: '1/0' } },
  { codeExecutionResult: { id: 'e2', outcome: 'OUTCOME_FAILED', output: 'by zero' } },
  { toolCall: { id: 't1', toolType: 'GOOGLE_SEARCH_WEB', args: { queries: ['sleet'] } } },
  { toolResponse: { id: 't1', toolType: 'GOOGLE_SEARCH_WEB', response: { hits: 'two sleets' } } },
  { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgoA' } },
  { fileData: { mimeType: 'image/png', fileUri: 'https://files.example/g' } },
  { functionCall: { id: 'g1', name: 'look', args: { at: 'sea' } }, thoughtSignature: 'c2lnMg==' },
];
export const gemini = (...parts: Json[]): string =>
  sse({
    responseId: 'gem_1',
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  });
