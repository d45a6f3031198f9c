// Dispatcher: messages that are no reply, to the adapter of a platform.
import { MillraceError } from '../../errors';

export interface OutgoingMessage {
  target_id: string;
  message_type?: 'group' | 'private';
  platform?: string;
  content?: string;
  attachments?: unknown[];
  metadata?: Record<string, unknown>;
}

/** What became of a message. */
export interface Delivery {
  delivered: boolean;
  messageIds?: string[];
  error?: string;
}

/** The result of a function that delivers: everything but `{ delivered: false }` means that the message is there. */
export function deliveryOf(outcome: unknown): Delivery {
  const { delivered } = (outcome ?? {}) as { delivered?: unknown };
  return typeof delivered === 'boolean' ? (outcome as Delivery) : { delivered: true };
}

/** A way to a chat platform. */
export interface PlatformAdapter {
  readonly id: string;
  send(message: OutgoingMessage, options: { signal?: AbortSignal }): Promise<Delivery> | Delivery;
}

/** Knows the adapters by their platform. */
export class Dispatcher {
  readonly #adapters = new Map<string, PlatformAdapter>();

  /** Adds an adapter; one with the same id is replaced. */
  registerAdapter(adapter: PlatformAdapter): void {
    this.#adapters.set(adapter.id, adapter);
  }

  unregisterAdapter(id: string): boolean {
    return this.#adapters.delete(id);
  }

  getAdapter(id: string): PlatformAdapter | undefined {
    return this.#adapters.get(id);
  }

  /** The ids, sorted. */
  listAdapters(): string[] {
    return [...this.#adapters.keys()].sort();
  }

  /** Sends through the platform's adapter; what it throws is passed on. */
  async dispatch(
    platform: string,
    message: OutgoingMessage,
    options: { signal?: AbortSignal } = {},
  ): Promise<Delivery> {
    const adapter = this.#adapters.get(platform);
    if (!adapter) {
      throw new MillraceError('invalid_argument', `未找到平台适配器: ${platform}`);
    }
    return adapter.send({ platform, ...message }, options);
  }
}

/** An adapter that hands messages to a function of this process; `{ delivered: false }` or a throw means that it failed. */
export function inProcessAdapter(
  id: string,
  deliver: (message: OutgoingMessage) => unknown,
): PlatformAdapter {
  return {
    id,
    send: async (message) => deliveryOf(await deliver(message)),
  };
}
