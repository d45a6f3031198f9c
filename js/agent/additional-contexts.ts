// Context that an agent adds to one call of its model, as messages of that call: the state never has them.
// Source: LobeHub 2026-07.
import type { AdditionalContext, AgentMessage } from '../../types/agent';
import { MillraceError } from '../errors';
import { shown } from '../shown';
import { isRecord } from '../value-checks';

type Section = Extract<AdditionalContext['content'], { type: 'sections' }>['sections'][number];
type Row = Pick<AgentMessage, 'role' | 'content'>;

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

// Tags in a value must not end the element that it is in.
function jsonOf(value: unknown, indent?: number): string {
  const json = JSON.stringify(value ?? null, null, indent);
  return json.replaceAll('<', '\\u003c').replaceAll('>', '\\u003e');
}

const formats: Record<Section['format'], (value: unknown) => string> = {
  text: (value) => escaped(typeof value === 'string' ? value : jsonOf(value)),
  json: (value) => `\n${jsonOf(value, 2)}\n`,
  compact_json: (value) => `\n${jsonOf(value)}\n`,
};

function wrong(what: string, given: unknown): MillraceError {
  return new MillraceError(
    'invalid_instruction',
    `call_llm: ${what}, not ${shown(given, 'additionalContexts')}.`,
  );
}

function sectionText({ tag, format, value }: Section): string {
  if (typeof tag !== 'string' || !Object.hasOwn(formats, format)) {
    const wanted = Object.keys(formats).join(', ');
    throw wrong(`a section of additionalContexts needs a \`tag\` and a \`format\` (${wanted})`, {
      ...{ tag, format },
    });
  }
  return `<${tag}>${formats[format](value)}</${tag}>`;
}

function elementText({ content, wrapper }: AdditionalContext): string {
  const attributes = Object.entries(wrapper.attributes ?? {}).map(
    ([name, value]) => ` ${name}="${escaped(String(value)).replaceAll('"', '&quot;')}"`,
  );
  const text =
    content.type === 'text'
      ? escaped(content.text)
      : content.sections.map((section) => sectionText(section)).join('\n');
  return `<${wrapper.tag}${attributes.join('')}>\n${text}\n</${wrapper.tag}>`;
}

function checked(given: unknown): AdditionalContext {
  const { content, placement, wrapper } = isRecord(given) ? given : {};
  const { type, text, sections } = isRecord(content) ? content : {};
  const hasContent =
    (type === 'text' && typeof text === 'string') ||
    (type === 'sections' && Array.isArray(sections));
  const hasTag = isRecord(wrapper) && typeof wrapper['tag'] === 'string';
  if (hasContent && hasTag && (placement === 'stable_prefix' || placement === 'virtual_tail')) {
    return given as AdditionalContext;
  }
  throw wrong(
    'an entry of additionalContexts must be { content: text or sections, placement: ' +
      "'stable_prefix' or 'virtual_tail', wrapper: { tag } }",
    given,
  );
}

/**
 * The messages with the contexts in their places: each place has one message of the user.
 * Errors: invalid_instruction.
 */
export function withContexts<M extends object>(
  messages: readonly M[],
  given: unknown,
): (M | Row)[] {
  if (given === undefined || given === null) return [...messages];
  if (!Array.isArray(given)) throw wrong('additionalContexts must be a list', given);
  const contexts = given.map(checked);
  const messageOf = (placement: AdditionalContext['placement']): Row[] => {
    const texts = contexts.filter((one) => one.placement === placement).map(elementText);
    return texts.length === 0 ? [] : [{ role: 'user', content: texts.join('\n\n') }];
  };
  const role = (message: object): unknown => (message as Partial<Row>).role;
  const firstUser = messages.findIndex((message) => role(message) === 'user');
  const system = messages.findIndex((message) => role(message) !== 'system');
  const place = firstUser >= 0 ? firstUser : system >= 0 ? system : messages.length;
  return [
    ...messages.slice(0, place),
    ...messageOf('stable_prefix'),
    ...messages.slice(place),
    ...messageOf('virtual_tail'),
  ];
}
