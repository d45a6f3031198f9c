import { type ReactNode, useEffect, useState } from 'react';

import { api } from '../api';
import { sizeText } from '../format';
import type { Attachment } from '../types';
import { Icon } from './icons';

const nameOf = ({ name, display_name: shown, id }: Attachment): string => name ?? shown ?? id;

/** Read with the key, which an address must not have. Undefined until it is here. */
function useBlobAddress(path: string | undefined): string | undefined {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    if (path === undefined) return undefined;
    const reading = new AbortController();
    let made: string | undefined;
    api
      .bytes(path, reading.signal)
      .then((blob) => setAddress((made = URL.createObjectURL(blob))))
      .catch(() => undefined);
    return () => {
      reading.abort();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [path]);
  return address;
}

async function save(attachment: Attachment): Promise<void> {
  if (attachment.download_url === undefined) return;
  const blob = await api.bytes(attachment.download_url, new AbortController().signal);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = nameOf(attachment);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function FileChip({ attachment }: { attachment: Attachment }): ReactNode {
  const { size } = attachment;
  return (
    <button
      type="button"
      className="file"
      title="Download"
      onClick={() => void save(attachment).catch(() => undefined)}
    >
      <Icon name="file" />
      <span className="file-name">{nameOf(attachment)}</span>
      {size !== undefined && <span className="faint">{sizeText(size)}</span>}
    </button>
  );
}

function PictureOf({ attachment }: { attachment: Attachment }): ReactNode {
  const address = useBlobAddress(attachment.preview_url);
  return (
    <button
      type="button"
      className="picture"
      title={`Download ${nameOf(attachment)}`}
      onClick={() => void save(attachment).catch(() => undefined)}
    >
      {address === undefined ? (
        <span className="picture-empty">{nameOf(attachment)}</span>
      ) : (
        <img src={address} alt={nameOf(attachment)} />
      )}
    </button>
  );
}

export function Attachments({ list }: { list: readonly Attachment[] }): ReactNode {
  if (list.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attachments">
      {list.map((one) => (
        <li key={one.id}>
          {one.preview_url === undefined ? (
            <FileChip attachment={one} />
          ) : (
            <PictureOf attachment={one} />
          )}
        </li>
      ))}
    </ul>
  );
}
