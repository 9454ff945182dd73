import type { Operation } from '../api/client';

/** A type as a field or an argument names it, with its wrappers. */
export interface TypeRef {
  kind: string;
  name: string | null;
  ofType: TypeRef | null;
}

export interface InputValue {
  name: string;
  description: string | null;
  type: TypeRef;
  defaultValue: string | null;
}

export interface Field {
  name: string;
  description: string | null;
  args: InputValue[];
  type: TypeRef;
  isDeprecated: boolean;
  deprecationReason: string | null;
}

export interface EnumValue {
  name: string;
  description: string | null;
  isDeprecated: boolean;
  deprecationReason: string | null;
}

export interface SchemaType {
  kind: 'OBJECT' | 'INPUT_OBJECT' | 'ENUM' | 'SCALAR' | 'INTERFACE' | 'UNION';
  name: string;
  description: string | null;
  fields: Field[] | null;
  inputFields: InputValue[] | null;
  enumValues: EnumValue[] | null;
}

const REF = 'kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } }';
const INPUT = `name description defaultValue type { ${REF} }`;

export const SCHEMA: Operation<{ __schema: { types: SchemaType[] } }> = {
  text: `query Schema {
  __schema {
    types {
      kind name description
      fields(includeDeprecated: true) {
        name description isDeprecated deprecationReason args { ${INPUT} } type { ${REF} }
      }
      inputFields { ${INPUT} }
      enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
    }
  }
}`,
};

/** A type as it is written, such as `[Passage!]!`. */
export function written(type: TypeRef): string {
  if (type.kind === 'NON_NULL') return `${type.ofType ? written(type.ofType) : ''}!`;
  if (type.kind === 'LIST') return `[${type.ofType ? written(type.ofType) : ''}]`;
  return type.name ?? '';
}

/** The name of the type inside all wrappers. */
export function named(type: TypeRef): string {
  return type.ofType ? named(type.ofType) : (type.name ?? '');
}

const FIRST = ['Query', 'Mutation', 'Subscription'];

/** The schema's own types: the three roots first, then by name. */
export function ownTypes(types: readonly SchemaType[]): SchemaType[] {
  const place = (type: SchemaType) => (FIRST.includes(type.name) ? FIRST.indexOf(type.name) : FIRST.length);
  return types
    .filter((type) => !type.name.startsWith('__'))
    .sort((left, right) => place(left) - place(right) || left.name.localeCompare(right.name));
}

/** The same with only what has every word of `words` in its names and descriptions; a type that has them stays whole. */
export function search(types: readonly SchemaType[], words: string): SchemaType[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [...types];
  const has = (...texts: (string | null)[]) => {
    const text = texts.join(' ').toLowerCase();
    return wanted.every((word) => text.includes(word));
  };
  const found = types.flatMap((type) => {
    if (has(type.name, type.description)) return [type];
    const fields = type.fields?.filter((field) => has(field.name, field.description, ...field.args.flatMap((item) => [item.name, item.description]))) ?? null;
    const inputFields = type.inputFields?.filter((field) => has(field.name, field.description)) ?? null;
    const enumValues = type.enumValues?.filter((value) => has(value.name, value.description)) ?? null;
    return (fields?.length ?? 0) + (inputFields?.length ?? 0) + (enumValues?.length ?? 0) === 0 ? [] : [{ ...type, fields, inputFields, enumValues }];
  });
  // What is called so comes before what only speaks of it.
  const distance = ({ name }: SchemaType) => {
    const lower = name.toLowerCase();
    return lower === wanted.join('') ? 0 : wanted.every((word) => lower.includes(word)) ? 1 : 2;
  };
  return found.sort((left, right) => distance(left) - distance(right));
}
