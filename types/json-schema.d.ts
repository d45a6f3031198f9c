// The type of what a JSON Schema describes, where the schema is written as a literal or by a library that keeps its type.
// Source: JSON Schema 2020-12; TypeBox 0.34 and 1.

/** A JSON Schema of an object with named members. */
export interface ObjectJsonSchema {
  readonly type: 'object';
  readonly properties: object;
  readonly required?: readonly string[];
  readonly '~standard'?: never;
}

/** What a schema describes; `unknown` where that is not read from it (`$ref`, `allOf`). */
export type ValueOf<Schema> = Schema extends { readonly static: infer Value }
  ? Value
  : Schema extends { readonly const: infer Value }
    ? Value
    : Schema extends { readonly enum: readonly (infer Value)[] }
      ? Value
      : Schema extends { readonly type: infer Type }
        ? TypedValue<Type, Schema>
        : Schema extends { readonly anyOf: readonly (infer One)[] }
          ? ValueOf<One>
          : Schema extends { readonly oneOf: readonly (infer One)[] }
            ? ValueOf<One>
            : unknown;

interface Scalars {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

type TypedValue<Type, Schema> = Type extends readonly (infer One)[]
  ? TypedValue<One, Schema>
  : Type extends keyof Scalars
    ? Scalars[Type]
    : Type extends 'array'
      ? ListValue<Schema>
      : Type extends 'object'
        ? ObjectValue<Schema>
        : unknown;

type ListValue<Schema> = Schema extends { readonly items: infer Items }
  ? ValueOf<Items>[]
  : unknown[];

type ObjectValue<Schema> = Schema extends { readonly properties: infer Members }
  ? MembersOf<Members, RequiredOf<Schema>>
  : Schema extends { readonly additionalProperties: infer Value extends object }
    ? Record<string, ValueOf<Value>>
    : Record<string, unknown>;

type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Name)[] }
  ? Name
  : never;

// In one object: editors then show its members. A list of any names requires none.
type MembersOf<Members, Required> = Plain<
  {
    -readonly [
      Name in keyof Members as string extends Required ? never : Extract<Name, Required>
    ]-?: ValueOf<Members[Name]>;
  } & {
    -readonly [
      Name in keyof Members as string extends Required ? Name : Exclude<Name, Required>
    ]?: ValueOf<Members[Name]>;
  }
>;

type Plain<Type> = { [Name in keyof Type]: Type[Name] };

export {};
