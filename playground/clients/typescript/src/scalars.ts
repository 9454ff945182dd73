/** What the schema's own scalars are in TypeScript. */

/** RFC 3339 with an offset and microseconds. A string, since a `Date` would lose the microseconds that name a version. */
export type Instant = string;

/** A number up to 2^53 − 1, beyond it a decimal string: `BigInt(value)` takes both. */
export type Int64 = number | string;

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
