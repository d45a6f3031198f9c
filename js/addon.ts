// Finds and opens the addon. Every path is a literal, so that bundlers can trace it.

/** What the addon exports. */
export interface Addon {
  readonly version: string;
}

let opened: Addon | undefined;

/** The addon of this environment, opened with the first call. */
export function addon(): Addon {
  opened ??= open();
  return opened;
}

function open(): Addon {
  const tried: string[] = [];
  for (const load of candidates()) {
    try {
      return load() as Addon;
    } catch (error) {
      tried.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    `millrace: no addon for ${process.platform}-${process.arch} could be opened. ` +
      `Build it with 'npm run build' in a checkout.\n${tried.join('\n')}`,
  );
}

function candidates(): (() => unknown)[] {
  const list = [(): unknown => require('../../build/release/millrace.node')];
  switch (`${process.platform}-${process.arch}`) {
    case 'linux-x64':
      list.push(() => require('../../prebuilds/linux-x64-glibc/millrace.node') as unknown);
      break;
    case 'linux-arm64':
      list.push(() => require('../../prebuilds/linux-arm64-glibc/millrace.node') as unknown);
      break;
  }
  return list;
}
