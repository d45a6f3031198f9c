// What is used of toml-eslint-parser, which scripts/build-js.mjs bundles to dist/cjs/cli/toml-parser.js.
export interface TomlPlace {
  /** From 1. */
  line: number;
  /** From 0. */
  column: number;
}

interface TomlLocated {
  loc: { start: TomlPlace };
}

export interface TomlKeyValue extends TomlLocated {
  type: 'TOMLKeyValue';
  key: {
    keys: (TomlLocated & { type: 'TOMLBare' | 'TOMLQuoted'; name?: string; value?: string })[];
  };
  value: TomlContent;
}

export interface TomlTable extends TomlLocated {
  type: 'TOMLTable';
  kind: 'standard' | 'array';
  key: TomlLocated;
  resolvedKey: (string | number)[];
  body: TomlKeyValue[];
}

export type TomlContent =
  | (TomlLocated & {
      type: 'TOMLValue';
      /** string, integer, float, boolean, or a kind of date. */
      kind: string;
      value: string | number | boolean | Date;
      bigint?: bigint;
    })
  | (TomlLocated & { type: 'TOMLArray'; elements: TomlContent[] })
  | (TomlLocated & { type: 'TOMLInlineTable'; body: TomlKeyValue[] });

export function parseTOML(text: string): {
  body: [{ body: (TomlKeyValue | TomlTable)[] }];
};

export class ParseError extends SyntaxError {
  lineNumber: number;
  column: number;
}
