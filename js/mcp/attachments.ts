// Images and sounds in results of MCP tools: kept elsewhere, and referred to by their address.
import { randomUUID } from 'node:crypto';

import type { MCPToolResult } from '../../types/mcp';
import { messageOf } from '../thrown';
import { retainedAt } from '../tool/kept-file';

/** A file that a tool's result refers to. */
export interface MCPAttachment {
  id: string;
  type: 'image' | 'audio' | 'file';
  mimeType: string;
  url: string;
}

/** Keeps a file that came as bytes; gives its address. */
export type MCPFileStore = (file: {
  id: string;
  mimeType: string;
  bytes: Uint8Array;
}) => string | Promise<string>;

interface Block {
  type?: unknown;
  data?: unknown;
  mimeType?: unknown;
  resource?: { blob?: unknown; mimeType?: unknown } | null;
}

/** What of a result is kept elsewhere, and what could not be. */
export interface StoredFiles {
  attachments: MCPAttachment[];
  /** What a model is told of files that are lost; "" when none is. */
  note: string;
}

/** Stores what a result holds as bytes. The call has run: a file that cannot be kept does not undo it. */
export async function attachmentsOf(
  { content }: MCPToolResult,
  store: MCPFileStore,
): Promise<StoredFiles> {
  const attachments: MCPAttachment[] = [];
  const notes: string[] = [];
  for (const block of (Array.isArray(content) ? content : []) as (Block | null)[]) {
    const { type, data, mimeType } =
      block?.type === 'resource'
        ? { type: 'file', data: block.resource?.blob, mimeType: block.resource?.mimeType }
        : (block ?? {});
    if (typeof data !== 'string') continue;
    if (type !== 'image' && type !== 'audio' && type !== 'file') continue;
    const id = randomUUID();
    const known = typeof mimeType === 'string' ? mimeType : 'application/octet-stream';
    try {
      const url = await retainedAt(store, {
        id,
        mimeType: known,
        bytes: Buffer.from(data, 'base64'),
      });
      attachments.push({ id, type, mimeType: known, url });
    } catch (error) {
      const reason = messageOf(error);
      notes.push(`\n[the ${type} of this result could not be kept and is not shown: ${reason}]`);
    }
  }
  return { attachments, note: notes.join('') };
}
