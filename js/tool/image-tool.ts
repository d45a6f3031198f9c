// A tool that makes images. The history holds a reference, never the image.
import type { ImagePayload, ImageResult } from '../../types/capabilities';
import type { HumanInterventionConfig } from '../../types/agent';
import { MillraceError } from '../errors';
import { checkSpelling } from '../known-names';
import { randomUUID } from '../node-crypto';
import { shownText } from '../shown';
import { messageOf } from '../thrown';
import { resultText } from './http-tools';
import { retainedAt } from './kept-file';
import type { RunnableTool } from './types';

/** A file that an answer refers to. */
export interface Attachment {
  id: string;
  type: 'image';
  mimeType: string;
  url: string;
  width?: number;
  height?: number;
}

export interface ImageToolOptions {
  /** A model runtime, or what makes images like one. */
  runtime: { createImage(payload: ImagePayload): Promise<ImageResult> };
  model: string;
  /** Further parameters of each image: size, quality. */
  params?: Record<string, unknown>;
  /** Keeps an image that came as bytes; gives its address. */
  store: (image: { id: string; mimeType: string; bytes: Uint8Array }) => string | Promise<string>;
  approval?: boolean | HumanInterventionConfig;
}

function checkOptions({ runtime, model, store }: Partial<ImageToolOptions> = {}): void {
  const wrong =
    (typeof runtime?.createImage !== 'function' && '`runtime`, which has createImage()') ||
    (typeof model !== 'string' && '`model`, the name of one that makes images') ||
    (typeof store !== 'function' && '`store`, which keeps an image and gives its address');
  if (wrong) throw new MillraceError('invalid_option', `imageTool() needs ${wrong}.`);
}

/** Makes the tool `create_image`. Throws `invalid_option`. */
export function imageTool(options: ImageToolOptions): RunnableTool<{ prompt: string }> {
  checkOptions(options);
  checkSpelling('imageTool()', options, ['runtime', 'model', 'params', 'store', 'approval']);
  return {
    name: 'create_image',
    description: 'Makes an image from a description and shows it to the user.',
    input: {
      type: 'object',
      properties: { prompt: { type: 'string', minLength: 1, maxLength: 4000 } },
      required: ['prompt'],
      additionalProperties: false,
    },
    effect: 'once',
    ...(options.approval !== undefined && { approval: options.approval }),
    run: async ({ prompt }: { prompt: string }) => {
      const { model, params = {}, runtime } = options;
      const made = await madeBy(runtime, { model, params: { ...params, prompt } });
      const attachment = await attachmentOf(made, options.store);
      return {
        content: `The image was made and is shown to the user: ${resultText(attachment.url)}`,
        success: true,
        attachments: [attachment],
      };
    },
  };
}

// What makes images may throw anything, also `null`; callers of a tool are promised an error.
async function madeBy(
  runtime: ImageToolOptions['runtime'],
  payload: ImagePayload,
): Promise<ImageResult | undefined> {
  try {
    return await runtime.createImage(payload);
  } catch (error) {
    if (typeof error === 'object' && error !== null) throw error;
    throw new MillraceError(
      'tool_failed',
      `The image could not be generated: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

async function attachmentOf(
  made: ImageResult | undefined,
  store: ImageToolOptions['store'],
): Promise<Attachment> {
  const { imageUrl, width, height } = made ?? {};
  if (typeof imageUrl !== 'string' || imageUrl === '') {
    throw new MillraceError(
      'no_image_generated',
      'The model returned no image; rephrase the prompt.',
    );
  }
  const id = randomUUID();
  const image = imageOf(imageUrl);
  const url = image ? await retainedOf({ id, ...image }, store) : imageUrl;
  const mimeType = image?.mimeType ?? 'image/*';
  const size = { ...(width !== undefined && { width }), ...(height !== undefined && { height }) };
  return { id, type: 'image', mimeType, url, ...size };
}

// The bytes of a data: address; undefined for one of the web, which is kept as it is. Anything else - a path,
// base64 alone - has no place in a history.
function imageOf(url: string): { mimeType: string; bytes: Uint8Array } | undefined {
  if (/^https?:\/\//i.test(url)) return undefined;
  const [, type, base64, data] =
    /^data:([^;,]*)(?:;(?!base64,)[^;,]*)*(;base64)?,(.*)$/is.exec(url) ?? [];
  if (data === undefined) {
    throw new MillraceError(
      'no_image_generated',
      `The image of the model must be an http or data URL, not ${shownText(url, 40)}.`,
    );
  }
  const bytes = base64 ? Buffer.from(data, 'base64') : Buffer.from(decodeURIComponent(data));
  return { mimeType: type || 'image/png', bytes };
}

async function retainedOf(
  image: { id: string; mimeType: string; bytes: Uint8Array },
  store: ImageToolOptions['store'],
): Promise<string> {
  try {
    return await retainedAt(store, image);
  } catch (error) {
    const reason = messageOf(error);
    throw new MillraceError(
      'tool_failed',
      `The image was generated, but \`store\` could not keep it: ${reason}`,
      { cause: error },
    );
  }
}
