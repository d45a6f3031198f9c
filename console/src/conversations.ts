// The list of conversations.
import { api, ApiError } from './api';
import { Store } from './store';
import type { Conversation } from './types';

export interface ConversationsState {
  list: readonly Conversation[];
  hasMore: boolean;
  isLoaded: boolean;
  problem: string;
}

const pollMs = 5000;
const firstCount = 30;
// The most that the server gives at once.
const mostCount = 200;

export class Conversations extends Store<ConversationsState> {
  #count = firstCount;

  constructor() {
    super({ list: [], hasMore: false, isLoaded: false, problem: '' });
  }

  /** Reads the list, and again from time to time while the page is seen. */
  watch(): () => void {
    const look = (): void => void (document.hidden || this.refresh());
    const timer = setInterval(look, pollMs);
    document.addEventListener('visibilitychange', look);
    look();
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }

  async refresh(): Promise<void> {
    try {
      const page = await api.conversations(this.#count);
      const hasMore = page.next_cursor !== undefined && this.#count < mostCount;
      this.set({ list: page.conversations, hasMore, isLoaded: true, problem: '' });
    } catch (error) {
      // A server that is away is reported where it is waited for.
      const isAway = error instanceof ApiError && error.status === 0;
      if (!isAway) this.set({ problem: (error as Error).message });
    }
  }

  async more(): Promise<void> {
    this.#count = Math.min(this.#count * 3, mostCount);
    await this.refresh();
  }

  async rename(id: string, title: string): Promise<void> {
    await this.#change(() => api.rename(id, title));
  }

  /** True once it is gone. */
  async remove(id: string): Promise<boolean> {
    return this.#change(() => api.remove(id));
  }

  async #change(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      await this.refresh();
      return true;
    } catch (error) {
      this.set({ problem: (error as Error).message });
      return false;
    }
  }
}

/** A conversation without messages has a title of the server's language. */
export function titleOf({
  title,
  title_source: source,
  message_count: count,
}: Conversation): string {
  return source === 'temporary' && count === 0 ? 'New conversation' : title;
}
