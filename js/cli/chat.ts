// millrace chat: one question to a model, its answer on the terminal.
import type { ModelUsage } from '../../types/chat-stream';
import type { AGUIEvent } from '../../types/events';
import type { CallReport } from '../../types/model';
import { MillraceError } from '../errors';
import { AnswerText } from '../model/answer-text';
import type { ModelRun } from '../model/run';
import { ModelRuntime } from '../model/runtime';
import { splitModel } from '../model/settings';
import type { Command } from './command';
import { exitCodeOf, integerOption, plain, readArgs, reportedError, UsageError } from './command';
import { chooseModel, modelWithKey } from './model-choice';

const help = `Usage: millrace chat "question" [options]

Calls a model and streams its answer to standard output; reasoning, usage and cost go to standard error.
Without a question, or with -, the question is read from standard input.

Options:
  --model <provider:name> openai:..., anthropic:..., ollama:..., or demo:demo, which needs no key;
                          default: the first provider with a key in the environment
  --base-url <url>        address of the model provider
  --system <text>         system prompt
  --max-tokens <n>        token limit of the answer
  --temperature <n>       from 0 to 2
  --quiet                 print only the answer, no reasoning or usage
  --json                  print one JSON object at the end instead, including errors
  --help                  print this

Exit code: 0 when the answer is complete, 1 when it failed or reached its limit, 2 for wrong arguments, 130 after
Ctrl-C.
`;

const options = {
  model: { type: 'string' },
  'base-url': { type: 'string' },
  system: { type: 'string' },
  'max-tokens': { type: 'string' },
  temperature: { type: 'string' },
  quiet: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

// What a model says may have come from anybody: a terminal must not obey it. A pipe keeps every byte.
function write(stream: NodeJS.WriteStream, text: string): void {
  stream.write(stream.isTTY ? plain(text) : text);
}

/** Follows a run, and writes what a person reads of it. */
class Terminal {
  #thinking = false;
  #last = '';
  readonly #quiet: boolean;

  constructor(quiet: boolean) {
    this.#quiet = quiet;
  }

  show(event: AGUIEvent): void {
    if (event.type === 'TEXT_MESSAGE_CONTENT') this.#text(event.delta);
    else if (event.type === 'REASONING_MESSAGE_CONTENT') this.#writeReasoning(event.delta);
    else if (event.type === 'TOOL_CALL_START') this.#note(`calls ${event.toolCallName}`);
    else if (event.type === 'CUSTOM' && event.name === 'millrace.reset') {
      this.#note('the answer broke off and begins anew');
    }
  }

  end(): void {
    if (this.#last !== '' && !this.#last.endsWith('\n')) process.stdout.write('\n');
    if (this.#thinking) process.stderr.write('\n');
  }

  #text(delta: string): void {
    if (this.#thinking) process.stderr.write('\n\n');
    this.#thinking = false;
    this.#last = delta;
    write(process.stdout, delta);
  }

  #writeReasoning(delta: string): void {
    if (this.#quiet) return;
    this.#thinking = true;
    if (process.stderr.isTTY) process.stderr.write('\u001b[2m');
    write(process.stderr, delta);
    if (process.stderr.isTTY) process.stderr.write('\u001b[22m');
  }

  #note(text: string): void {
    if (!this.#quiet) write(process.stderr, `\n(${text})\n`);
  }
}

function shownUsage({ provider, model, usage }: CallReport, cost: number | undefined): string {
  const about = usage.source === 'estimated' ? 'about ' : '';
  const count = (name: keyof ModelUsage, word: string): string[] =>
    typeof usage[name] === 'number' ? [`${about}${usage[name]} ${word}`] : [];
  const parts = [
    ...count('totalInputTokens', 'tokens in'),
    ...count('inputCachedTokens', 'of them cached'),
    ...count('totalOutputTokens', 'tokens out'),
    ...count('outputReasoningTokens', 'of them reasoning'),
  ];
  const price = cost === undefined ? 'cost unknown' : `$${cost.toFixed(6)}`;
  return `${provider}:${model}  ${[...(parts.length > 0 ? parts : ['usage unknown']), price].join(', ')}\n`;
}

async function promptOf(positionals: readonly string[]): Promise<string> {
  const given = positionals.join(' ');
  if (given !== '' && given !== '-') return given;
  if (process.stdin.isTTY && given === '') {
    throw new UsageError('chat needs a question: millrace chat "question".');
  }
  let text = '';
  for await (const chunk of process.stdin) text += String(chunk);
  if (text.trim() === '') throw new UsageError('chat needs a question; standard input is empty.');
  return text.replace(/\r?\n$/, '');
}

// The first Ctrl-C ends the answer in good order, the second the process.
function stopOnSignal(run: ModelRun): () => boolean {
  let stopped = false;
  const stop = (): void => {
    if (stopped) process.exit(130);
    stopped = true;
    run.stop();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return () => {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    return stopped;
  };
}

function temperatureOf(text: string | undefined): { temperature?: number } {
  if (text === undefined) return {};
  const temperature = Number(text);
  if (text.trim() !== '' && temperature >= 0 && temperature <= 2) return { temperature };
  throw new UsageError(`--temperature must be from 0 to 2, not '${text}'.`);
}

/** The `chat` command. */
export const chat: Command = {
  summary: 'ask a model one question',
  async run(args) {
    const { values, positionals } = readArgs(args, options, true);
    if (values.help === true) {
      process.stdout.write(help);
      return 0;
    }
    if (values.json !== true) return request(values, positionals);
    try {
      return await request(values, positionals);
    } catch (error) {
      // Programs read standard output, whatever went wrong.
      process.stdout.write(`${JSON.stringify({ error: reportedError(error) })}\n`);
      return exitCodeOf(error);
    }
  },
};

type Values = ReturnType<typeof readArgs<typeof options>>['values'];

async function request(values: Values, positionals: readonly string[]): Promise<number> {
  const maxTokens = integerOption('max-tokens', values['max-tokens'], 1, 1e9);
  const temperature = temperatureOf(values.temperature);
  const { runtime, model } = runtimeOf(values);
  const system =
    values.system === undefined ? [] : [{ role: 'system' as const, content: values.system }];
  const run = runtime.stream({
    model,
    messages: [...system, { role: 'user', content: await promptOf(positionals) }],
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...temperature,
  });
  const wasStopped = stopOnSignal(run);
  const terminal = new Terminal(values.quiet === true);
  const answer = new AnswerText(Infinity);
  let cut: MillraceError | undefined;
  for await (const event of run) {
    if (values.json === true) answer.add(event);
    else terminal.show(event);
    cut ??= cutOf(event);
  }
  const report = await run.report;
  const stopped = wasStopped();
  const { cost } = report.usage;
  const failure = await run.text().then(
    () => cut,
    (error: unknown) => error as Error,
  );
  if (values.json === true) {
    const { text, openCalls: toolCalls } = answer;
    const reported = {
      ...{ ...report, text, stopped },
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
      ...(cost === undefined ? {} : { cost }),
      ...(failure === undefined ? {} : { error: reportedError(failure) }),
    };
    process.stdout.write(`${JSON.stringify(reported)}\n`);
  } else {
    terminal.end();
    const wasRequested = report.attempts.length > 0;
    if (values.quiet !== true && wasRequested) write(process.stderr, shownUsage(report, cost));
  }
  if (stopped) return 130;
  if (failure === undefined) return 0;
  // What is missing before anything can be asked is a wrong use.
  const isUse = MillraceError.is(failure, 'missing_api_key');
  const reported = isUse ? new UsageError(failure.message, { cause: failure }) : failure;
  if (values.json !== true) throw reported;
  return exitCodeOf(reported);
}

// To a run, an answer that reached its limit is one all the same; its reader needs to know.
function cutOf(event: AGUIEvent): MillraceError | undefined {
  if (event.type !== 'RUN_ERROR' || event.code !== 'output_limit_reached') return undefined;
  return new MillraceError('output_limit_reached', event.message);
}

// What the model is called wrongly is a wrong use.
function runtimeOf(values: Values): { runtime: ModelRuntime; model: string } {
  const named = values.model ?? process.env['MILLRACE_MODEL']?.trim();
  const wanted = named || modelWithKey(process.env);
  const choice = chooseModel(wanted, values['base-url'], process.env);
  if (choice.model === 'demo:demo' && !wanted) {
    throw new UsageError(
      "No model is configured. Set OPENAI_API_KEY or another provider's key, or use --model; " +
        '--model demo:demo needs no key.',
    );
  }
  try {
    const { provider, model } = splitModel(choice.model);
    const runtime = new ModelRuntime(provider, {
      ...(choice.baseURL === '' ? {} : { baseURL: choice.baseURL }),
      ...(choice.apiKey === '' ? {} : { apiKey: choice.apiKey }),
    });
    return { runtime, model };
  } catch (error) {
    throw MillraceError.is(error) ? new UsageError(error.message, { cause: error }) : error;
  }
}
