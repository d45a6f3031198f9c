// The tools by which an Engine's model sends messages before its answer, or no answer.
import { deliveryOf } from './dispatcher';
import type { EngineRunContext, EngineTool, SendMessagePart, SendMessagePayload } from './types';

/** Bytes of a result that a model may read. */
export const resultLimit = 65_536;

/** What stay_silent answers. */
export const silentResult = '已选择保持沉默';

/** What send_message answers when the message is there. */
export const deliveredResult = '消息已发送';

/** A result as long as a model may read; longer ones are cut at a character. */
export function cutResult(result: string): string {
  if (result.length <= resultLimit && Buffer.byteLength(result) <= resultLimit) return result;
  const bytes = Buffer.from(result.slice(0, resultLimit + 1));
  let end = resultLimit;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString('utf8', 0, end)}\n...(工具输出过长，已截断)`;
}

// The member that a part of each type needs.
const needs: Record<string, (part: SendMessagePart) => string | undefined> = {
  plain: ({ text }) => (isFilled(text) ? undefined : 'text 不能为空'),
  mention_user: ({ mention_user_id: id }) =>
    isFilled(id) ? undefined : 'mention_user_id 不能为空',
  quote: ({ message_id: id }) => (isFilled(id) ? undefined : 'message_id 不能为空'),
  image: place,
  record: place,
  video: place,
  file: place,
};

function place({ path, url }: SendMessagePart): string | undefined {
  return isFilled(path) || isFilled(url) ? undefined : '需要 path 或 url';
}

// Blanks alone are no text.
function isFilled(text: unknown): boolean {
  return typeof text === 'string' && text.trim() !== '';
}

function checked(args: unknown): SendMessagePayload {
  const payload = args as SendMessagePayload | null;
  const messages = payload?.messages;
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new Error('send_message 至少需要一条 messages');
  }
  messages.forEach((part, index) => {
    const check = Object.hasOwn(needs, part?.type) ? needs[part.type] : undefined;
    if (!check) throw new Error(`messages[${index}].type 不支持: ${part?.type}`);
    const wrong = check(part);
    if (!wrong) return;
    throw new Error(`messages[${index}]${wrong.startsWith('需要') ? ' ' : '.'}${wrong}`);
  });
  return payload as SendMessagePayload;
}

/** Sends messages while the prompt is still being answered. */
export const sendMessageTool: EngineTool = {
  name: 'send_message',
  description: 'Sends messages to the current chat before the final answer.',
  parameters: {
    type: 'object',
    properties: {
      messages: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          properties: {
            type: { type: 'string', enum: Object.keys(needs) },
            text: { type: 'string' },
            mention_user_id: { type: 'string' },
            message_id: { type: 'string' },
            path: { type: 'string' },
            url: { type: 'string' },
          },
          required: ['type'],
        },
      },
      session: { type: 'string' },
    },
    required: ['messages'],
  },
  async execute(args, { onMessage, runId, sessionId, signal }: EngineRunContext) {
    const payload = checked(args);
    if (!onMessage) return JSON.stringify(payload);
    const context = { runId, signal, ...(sessionId !== undefined && { sessionId }) };
    const outcome = deliveryOf(await onMessage(payload, context));
    if (!outcome.delivered) throw new Error(`消息发送失败: ${outcome.error ?? ''}`);
    return deliveredResult;
  },
};

/** Ends the prompt without an answer. */
export const staySilentTool: EngineTool = {
  name: 'stay_silent',
  description: 'Ends this turn without saying anything.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  execute(args: unknown) {
    if (typeof args !== 'object' || args === null || Object.keys(args).length > 0) {
      throw new Error('stay_silent 不接受参数');
    }
    return silentResult;
  },
};
