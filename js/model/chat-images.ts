// createImage() with models that answer with images in a chat: LobeHub names them `...:image`.
import type { CapabilityOptions, ImagePayload, ImageResult } from '../../types/capabilities';
import type { ChatStreamPayload } from '../../types/model';
import { MillraceError } from '../errors';
import { defined } from '../plain-values';
import { answerImage } from './answer-text';
import type { ModelRun } from './run';
import type { StreamOptions } from './runtime-options';

const ending = ':image';

/** The model whose chat makes the image; undefined for any other, and for what is no payload. */
export function imageChatModel(payload: unknown): string | undefined {
  const { model, params } = (payload ?? {}) as { model?: unknown; params?: { prompt?: unknown } };
  if (typeof model !== 'string' || typeof params?.prompt !== 'string') return undefined;
  const fits = model.length > ending.length && model.endsWith(ending);
  return fits ? model.slice(0, -ending.length) : undefined;
}

/**
 * One image of a chat, with the images to start from behind the prompt.
 * Errors: those of the chat; `no_image_generated`.
 */
export async function imageByChat(
  stream: (payload: ChatStreamPayload, options: StreamOptions) => ModelRun,
  model: string,
  { params }: ImagePayload,
  { onUsage, onNotes, ...options }: CapabilityOptions = {},
): Promise<ImageResult> {
  const run = stream(chatOf(model, params), options);
  const imageUrls: string[] = [];
  for await (const event of run) {
    const url = event.type === 'CUSTOM' ? urlOf(event.name, event.value) : undefined;
    if (url !== undefined) imageUrls.push(url);
  }
  const text = await run.text();
  const usage = await run.usage;
  onUsage?.(usage);
  const report = await run.report;
  const notes = [...unused(params), ...report.notes];
  if (notes.length > 0) onNotes?.(notes);
  const [imageUrl] = imageUrls;
  if (imageUrl === undefined) {
    throw new MillraceError('no_image_generated', 'The model answered without an image.', {
      detail: text.slice(0, 512),
    });
  }
  return {
    imageUrl,
    ...(imageUrls.length > 1 ? { imageUrls } : {}),
    modelUsage: usage,
    ...(notes.length > 0 ? { notes } : {}),
  };
}

const used = ['prompt', 'imageUrl', 'imageUrls', 'aspectRatio', 'resolution'];

function unused(params: ImagePayload['params']): string[] {
  const names = Object.keys(defined(params)).filter((name) => !used.includes(name));
  return names.map((name) => `\`${name}\`: A chat that makes images has no such setting.`);
}

interface Addressed {
  kind?: unknown;
  state?: { image_url?: { url?: unknown } };
}

// Images come by value, or by an address of the provider's.
function urlOf(name: string, value: unknown): string | undefined {
  const data = answerImage(name, value);
  if (data !== undefined) return data;
  const { kind, state } = (value ?? {}) as Addressed;
  const url = kind === 'image' ? state?.image_url?.url : undefined;
  return typeof url === 'string' && /^https?:/.test(url) ? url : undefined;
}

function chatOf(model: string, params: ImagePayload['params']): ChatStreamPayload {
  const { prompt, imageUrl, imageUrls = [], aspectRatio, resolution } = params;
  const first = typeof imageUrl === 'string' ? [imageUrl] : [];
  const urls = imageUrls.length > 0 ? imageUrls : first;
  const images = urls.map((url) => ({ type: 'image_url' as const, image_url: { url } }));
  return {
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }, ...images] }],
    stream: false,
    ...(aspectRatio === undefined ? {} : { imageAspectRatio: aspectRatio }),
    ...(resolution === undefined ? {} : { imageResolution: resolution as string }),
  } as ChatStreamPayload;
}
