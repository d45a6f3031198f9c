// What the factories are given, checked when a class is made: a hook that is none would be heard of with the first
// call, or never.
import { MillraceError } from '../errors';
import { meantBy } from '../known-names';
import { shown } from '../shown';
import type { Check } from '../value-checks';
import { anything, atLeast, callback, checkHeaders, checkValues } from '../value-checks';
import { flag, group, isRecord, text } from '../value-checks';

type Checks = Readonly<Record<string, Check>>;

const filledText: Check = ['a string', (value) => typeof value === 'string' && value.trim() !== ''];

function listOf(what: string, isRight: (item: unknown) => boolean): Check {
  return [`a list of ${what}`, (value) => Array.isArray(value) && value.every(isRight)];
}

const isText = (value: unknown): boolean => typeof value === 'string';
const patterns = listOf(
  'strings and patterns',
  (item) => isText(item) || Object.prototype.toString.call(item) === '[object RegExp]',
);
const limits = listOf(
  'models with id and contextWindowTokens',
  (item) =>
    isRecord(item) && isText(item['id']) && Number(item['contextWindowTokens'] ?? Infinity) > 0,
);
const models: Check = [
  'a function, or an object with the function transformModel',
  (value) =>
    typeof value === 'function' ||
    (isRecord(value) && typeof value['transformModel'] === 'function'),
];
const client: Check = [
  'an object with the function createClient',
  (value) => isRecord(value) && typeof value['createClient'] === 'function',
];

const ofBoth: Checks = {
  ...{ apiKey: text, constructorOptions: group, errorType: group, chatCompletion: group },
  ...{ keyNames: listOf('strings', isText), customClient: client, models, debug: group },
};
const hooks: Checks = { handlePayload: callback, handleStream: callback, handleError: callback };

// The groups of options, and what belongs to each.
const groups: Readonly<Record<string, Checks>> = {
  constructorOptions: {
    defaultHeaders: anything,
    defaultQuery: anything,
    timeout: atLeast(0),
    maxRetries: atLeast(0),
  },
  errorType: { bizError: text, invalidAPIKey: text },
  customClient: { createClient: callback, createChatCompletionStream: callback },
  debug: { chatCompletion: callback, responses: callback },
};
const openaiGroups: Readonly<Record<string, Checks>> = {
  ...groups,
  chatCompletion: {
    ...{ ...hooks, handleStreamBizErrorType: callback, handleTransformResponseToStream: callback },
    ...{ excludeUsage: flag, noUserId: flag, supportsAudioInput: flag, useResponse: flag },
    ...{ forceImageBase64: flag, forceVideoBase64: flag, useResponseModels: patterns },
    contextPreFlight: group,
  },
  responses: { handlePayload: callback },
  generateObject: {
    ...{ handleSchema: callback, handlePayload: callback, useToolsCalling: flag },
    ...{ useResponse: flag, useResponseModels: patterns },
  },
};

export function checkOpenAIFactory(options: unknown): void {
  const owner = 'openaiCompatibleFactory';
  const own = { responses: group, generateObject: group, createImage: callback };
  checkFactory(owner, options, own, openaiGroups);
  const { chatCompletion } = options as { chatCompletion?: { contextPreFlight?: unknown } };
  const tokens = { minOutputTokens: atLeast(0), safetyMarginTokens: atLeast(0) };
  const ofContext = { models: limits, ...tokens };
  const preFlight = chatCompletion?.contextPreFlight;
  checkValues(`${owner}: chatCompletion.contextPreFlight`, preFlight, ofContext);
  if (isRecord(preFlight) && preFlight['models'] === undefined) {
    throw new MillraceError('invalid_option', `${owner}: contextPreFlight needs \`models\`.`);
  }
}

export function checkAnthropicFactory(options: unknown): void {
  const chatCompletion = { ...hooks, getPricingOptions: callback };
  const own = { generateObject: callback };
  checkFactory('anthropicCompatibleFactory', options, own, { ...groups, chatCompletion });
}

// Options that a factory elsewhere may have: a program that brings them along goes on without.
function unreadNames(given: unknown, known: readonly string[], group = ''): string[] {
  if (!isRecord(given)) return [];
  return Object.entries(given)
    .filter(([name, value]) => value !== undefined && !known.includes(name))
    .map(([name]) => {
      const meant = meantBy(name, known);
      return `'${group}${name}'${meant === undefined ? '' : ` (did you mean '${meant}'?)`}`;
    });
}

function warnOf(owner: string, provider: string, unread: readonly string[]): void {
  process.emitWarning(
    `${owner}: the runtime of ${provider} does not have the options ${unread.join(', ')}, and works without them.`,
    { code: 'MILLRACE_UNKNOWN_OPTION' },
  );
}

function checkFactory(
  owner: string,
  options: unknown,
  own: Checks,
  inside: Readonly<Record<string, Checks>>,
): void {
  const { provider, baseURL } = (options ?? {}) as { provider?: unknown; baseURL?: unknown };
  for (const [name, value] of Object.entries({ provider, baseURL })) {
    if (filledText[1](value)) continue;
    throw new MillraceError(
      'invalid_option',
      `${owner}: ${name} must be ${filledText[0]}, not ${shown(value)}.`,
    );
  }
  const given = options as Record<string, unknown>;
  const checks = { ...ofBoth, ...own };
  checkValues(owner, given, checks);
  const known = ['provider', 'baseURL', ...Object.keys(checks)];
  const unread = unreadNames(given, known);
  for (const [name, members] of Object.entries(inside)) {
    checkValues(`${owner}: ${name}`, given[name], members);
    unread.push(...unreadNames(given[name], Object.keys(members), `${name}.`));
  }
  if (unread.length > 0) warnOf(owner, String(given['provider']), unread);
  const { constructorOptions: made } = options as { constructorOptions?: Record<string, unknown> };
  for (const name of ['defaultHeaders', 'defaultQuery']) {
    checkHeaders(owner, made?.[name] ?? undefined, name);
  }
}
