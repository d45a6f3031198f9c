import { type ReactNode, useState } from 'react';

import { Icon } from './icons';

const shownMs = 1500;

/** Absent where the browser gives pages no clipboard, as without TLS. */
export function CopyButton({ text, label }: { text: string; label: string }): ReactNode {
  const [isDone, setDone] = useState(false);
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (!clipboard) return null;
  const copy = async (): Promise<void> => {
    await clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), shownMs);
  };
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={isDone ? 'Copied' : label}
      title={isDone ? 'Copied' : label}
      onClick={() => void copy().catch(() => undefined)}
    >
      <Icon name={isDone ? 'check' : 'copy'} />
    </button>
  );
}
