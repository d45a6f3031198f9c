// Reads what an exported run has inside its page.
import type { RunHead, RunRecord } from './run-record';

export const readHead = (): RunHead => JSON.parse(textOf('head')) as RunHead;

/** The records in their order; they are compressed lines of JSON. */
export async function readRecords(): Promise<RunRecord[]> {
  const parts = textOf('records').trim().split('\n').map(bytesOf);
  const lines = new Blob(parts).stream().pipeThrough(new DecompressionStream('gzip'));
  const text = await new Response(lines).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RunRecord);
}

function textOf(id: string): string {
  return document.getElementById(id)?.textContent ?? '';
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}
