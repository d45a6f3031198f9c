// runtime.attachments: files that belong to conversations, each stored once by its content.
import { checkNames } from '../known-names';
import { MillraceError } from '../errors';
import { shown } from '../shown';
import { checkValues, text } from '../value-checks';

/** A stored file. */
export interface StoredAttachment {
  id: string;
  name: string;
  /** Its media type; `application/octet-stream` where none was given. */
  media: string;
  size: number;
  /** Of its bytes, in hexadecimal digits. */
  sha256: string;
  threadId?: string;
  createdAt: number;
}

export interface NewAttachment {
  name: string;
  media?: string | undefined;
  /** The file is deleted with this thread. */
  threadId?: string | undefined;
  /** Whose file it is; as `principal` of a run. */
  principal?: string | undefined;
}

export interface AttachmentOwner {
  principal?: string | undefined;
}

/** Files that belong to conversations. */
export interface RuntimeAttachments {
  /** Keeps a file. */
  put(bytes: Uint8Array | ArrayBuffer, options: NewAttachment): Promise<StoredAttachment>;
  /** The file with its bytes; rejects with `attachment_not_found` where there is none. */
  get(id: string, options?: AttachmentOwner): Promise<StoredAttachment & { data: Uint8Array }>;
  /** Does nothing where there is no such file. */
  delete(id: string, options?: AttachmentOwner): Promise<void>;
}

type Ask = <T>(command: string, options: object) => Promise<T>;

export function runtimeAttachments(ask: Ask): RuntimeAttachments {
  const ofOwner = (owner: string, id: string, options: AttachmentOwner = {}): object => {
    checkNames(owner, options, ['principal']);
    checkValues(owner, options, { principal: text });
    return { id, principal: options.principal ?? '' };
  };
  return {
    put: async (bytes, options) => {
      const owner = 'attachments.put()';
      checkNames(owner, options, ['name', 'media', 'threadId', 'principal']);
      checkValues(owner, options, { name: text, media: text, threadId: text, principal: text });
      const { name, media, threadId, principal = '' } = options;
      const data = textOf(owner, bytes);
      return ask('attachment.put', { name, media, threadId, principal, data });
    },
    get: async (id, options) => {
      const found = await ask<StoredAttachment & { data: string }>(
        'attachment.get',
        ofOwner('attachments.get()', id, options),
      );
      return { ...found, data: new Uint8Array(Buffer.from(found.data, 'base64')) };
    },
    delete: async (id, options) => {
      await ask('attachment.delete', ofOwner('attachments.delete()', id, options));
    },
  };
}

function textOf(owner: string, bytes: unknown): string {
  if (bytes instanceof ArrayBuffer) return Buffer.from(bytes).toString('base64');
  if (bytes instanceof Uint8Array) {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  }
  throw new MillraceError(
    'invalid_argument',
    `${owner} takes a Uint8Array or an ArrayBuffer, not ${shown(bytes)}.`,
  );
}
