// Files that wait to be sent with the next message. They are uploaded at once.
import { useRef, useState } from 'react';

import { api, randomId } from '../api';
import type { Attachment } from '../types';

export interface Upload {
  key: string;
  file: File;
  /** Address of a small picture of it. */
  picture?: string;
  attachment?: Attachment;
  problem: string;
}

export interface Uploads {
  uploads: readonly Upload[];
  add: (files: Iterable<File>) => void;
  remove: (key: string) => void;
  clear: () => void;
}

const pictures = /^image\/(png|jpeg|gif|webp|avif)$/;

export function useUploads(): Uploads {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const running = useRef(new Map<string, AbortController>());

  const change = (key: string, part: Partial<Upload>): void =>
    setUploads((list) => list.map((one) => (one.key === key ? { ...one, ...part } : one)));

  const start = async ({ key, file }: Upload): Promise<void> => {
    const controller = new AbortController();
    running.current.set(key, controller);
    try {
      change(key, { attachment: await api.upload(file, controller.signal) });
    } catch (error) {
      change(key, { problem: (error as Error).message });
    } finally {
      running.current.delete(key);
    }
  };

  const add = (files: Iterable<File>): void => {
    const added = [...files].map((file): Upload => {
      const picture = pictures.test(file.type) ? { picture: URL.createObjectURL(file) } : {};
      return { key: randomId(), file, problem: '', ...picture };
    });
    setUploads((list) => [...list, ...added]);
    for (const upload of added) void start(upload);
  };

  const release = (list: readonly Upload[]): void => {
    for (const { picture } of list) if (picture !== undefined) URL.revokeObjectURL(picture);
  };

  const remove = (key: string): void => {
    running.current.get(key)?.abort();
    release(uploads.filter((one) => one.key === key));
    setUploads((list) => list.filter((one) => one.key !== key));
  };

  const clear = (): void => {
    release(uploads);
    setUploads([]);
  };

  return { uploads, add, remove, clear };
}
