// A stream of OpenAI Responses that says what a whole response says: each item begins, grows and ends.

import { halves } from '../frame/pieces.mjs';

const beginsWith = {
  message: { content: [] },
  reasoning: { summary: [], content: undefined, encrypted_content: undefined },
  function_call: { arguments: '' },
  custom_tool_call: { input: '' },
  mcp_call: { arguments: '', output: null, error: null },
  mcp_list_tools: { tools: [], error: null },
  code_interpreter_call: { code: '', outputs: null },
  image_generation_call: { result: null },
  file_search_call: { results: null },
};

/** The records of a response, without their frames. */
export function recordsOf(response) {
  const stream = new Stream();
  const begun = { ...response, output: [], status: 'in_progress', usage: null };
  delete begun.completed_at;
  Object.assign(begun, { error: null, incomplete_details: null });
  stream.say('response.created', { response: begun });
  stream.say('response.queued', { response: { ...begun, status: 'queued' } });
  stream.say('response.in_progress', { response: begun });
  response.output.forEach((item, at) => stream.item(item, at));
  if (response.audio) stream.audio(response.audio);
  const { status } = response;
  const end = status === 'failed' || status === 'incomplete' ? status : 'completed';
  stream.say(`response.${end}`, { response });
  return stream.records;
}

class Stream {
  records = [];

  say(type, members) {
    this.records.push({ type, sequence_number: this.records.length, ...members });
  }

  item(item, at) {
    const first = { ...item, ...beginsWith[item.type] };
    if ('status' in item) first.status = 'in_progress';
    const place = { output_index: at, item_id: item.id };
    this.say('response.output_item.added', {
      output_index: at,
      item: JSON.parse(JSON.stringify(first)),
    });
    const grow = this[item.type];
    if (typeof grow === 'function') grow.call(this, item, place);
    this.say('response.output_item.done', { output_index: at, item });
  }

  phases(name, place, phases) {
    for (const phase of phases) this.say(`response.${name}.${phase}`, place);
  }

  grown(name, member, text, place, pieces = halves(text)) {
    for (const delta of pieces) this.say(`response.${name}.delta`, { ...place, delta });
    this.say(`response.${name}.done`, { ...place, [member]: text });
  }

  message({ content }, item) {
    content.forEach((part, content_index) => {
      const place = { ...item, content_index };
      const isText = part.type === 'output_text';
      const [begin, ...pieces] = halves(isText ? part.text : part.refusal);
      const begun = isText
        ? { ...part, text: begin, annotations: [], logprobs: [] }
        : { ...part, refusal: begin };
      this.say('response.content_part.added', { ...place, part: begun });
      if (isText) this.text(part, place, pieces.join(''));
      else this.grown('refusal', 'refusal', part.refusal, place, pieces);
      this.say('response.content_part.done', { ...place, part });
    });
  }

  text({ text, annotations = [], logprobs = [] }, place, delta) {
    this.say('response.output_text.delta', { ...place, delta, logprobs });
    annotations.forEach((annotation, annotation_index) =>
      this.say('response.output_text.annotation.added', { ...place, annotation_index, annotation }),
    );
    this.say('response.output_text.done', { ...place, text, logprobs });
  }

  reasoning({ summary = [], content = [] }, item) {
    summary.forEach((part, summary_index) => {
      const place = { ...item, summary_index };
      this.say('response.reasoning_summary_part.added', { ...place, part: { ...part, text: '' } });
      this.grown('reasoning_summary_text', 'text', part.text, place);
      this.say('response.reasoning_summary_part.done', { ...place, part });
    });
    content.forEach((part, content_index) => {
      const place = { ...item, content_index };
      this.say('response.content_part.added', { ...place, part: { ...part, text: '' } });
      this.grown('reasoning_text', 'text', part.text, place);
      this.say('response.content_part.done', { ...place, part });
    });
  }

  function_call({ arguments: text, name }, place) {
    for (const delta of halves(text)) {
      this.say('response.function_call_arguments.delta', { ...place, delta });
    }
    this.say('response.function_call_arguments.done', { ...place, name, arguments: text });
  }

  custom_tool_call({ input }, place) {
    this.grown('custom_tool_call_input', 'input', input, place);
  }

  mcp_call({ arguments: text, error }, place) {
    this.phases('mcp_call', place, ['in_progress']);
    this.grown('mcp_call_arguments', 'arguments', text, place);
    this.phases('mcp_call', place, [error ? 'failed' : 'completed']);
  }

  mcp_list_tools({ error }, place) {
    this.phases('mcp_list_tools', place, ['in_progress', error ? 'failed' : 'completed']);
  }

  web_search_call(item, place) {
    this.phases('web_search_call', place, ['in_progress', 'searching', 'completed']);
  }

  file_search_call(item, place) {
    this.phases('file_search_call', place, ['in_progress', 'searching', 'completed']);
  }

  code_interpreter_call({ code }, place) {
    this.phases('code_interpreter_call', place, ['in_progress']);
    if (code !== null) this.grown('code_interpreter_call_code', 'code', code, place);
    this.phases('code_interpreter_call', place, ['interpreting', 'completed']);
  }

  image_generation_call({ result }, place) {
    this.phases('image_generation_call', place, ['in_progress', 'generating']);
    const partial = { partial_image_index: 0, partial_image_b64: result ?? '' };
    this.say('response.image_generation_call.partial_image', { ...place, ...partial });
    this.phases('image_generation_call', place, ['completed']);
  }

  compaction(item, place) {
    this.say('response.compaction.compacting', place);
  }

  shell_call({ action }, { output_index }) {
    action.commands.forEach((command, command_index) => {
      const place = { output_index, command_index };
      this.say('response.shell_call_command.added', { ...place, command: '' });
      this.say('response.shell_call_command.delta', { ...place, delta: command });
      this.say('response.shell_call_command.done', { ...place, command });
    });
  }

  shell_call_output({ output }, place) {
    output.forEach((one, command_index) => {
      const { stdout, stderr } = one;
      const at = { ...place, command_index };
      this.say('response.shell_call_output_content.delta', { ...at, delta: { stdout, stderr } });
      this.say('response.shell_call_output_content.done', { ...at, output: [one] });
    });
  }

  audio({ data, transcript }) {
    this.say('response.audio.delta', { delta: data });
    this.say('response.audio.done', {});
    this.say('response.audio.transcript.delta', { delta: transcript });
    this.say('response.audio.transcript.done', {});
  }
}
