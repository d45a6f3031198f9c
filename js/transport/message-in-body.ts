// What a server says about a request that failed.
import { addon } from '../addon';
import { messageIn } from './message-of';

/** What to call a body that is a gateway's HTML page, which does not belong into an error; undefined for any other. */
export function pageIn(body: string): string | undefined {
  return addon().htmlPage(body) || undefined;
}

/** The message in a JSON body: `error` (text), `error.message` or `message`; shortened. */
export function messageOf(body: string): string | undefined {
  return messageIn(body, pageIn);
}
