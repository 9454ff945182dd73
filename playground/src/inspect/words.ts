/** The API's codes in plain words. */

export const EXCLUSIONS: Readonly<Record<string, string>> = {
  PROVIDER_SCOPE: 'Provider not admitted by the credential',
  NO_RESULTS: 'Searched, and nothing matched',
  CALLER_FILTER: 'Set aside by the request’s filters',
  NOT_YET_VALID: 'Not yet true at that moment',
  EXPIRED: 'No longer true at that moment',
  SUPERSEDED: 'A later belief took its place',
  MIN_SCORE: 'Below the least score',
  PER_LEVEL_CAP: 'Enough from this level already',
  PER_DOCUMENT_CAP: 'Enough from this document already',
  DIVERSITY: 'Says much the same as a better one',
  TOP_K: 'Enough ranked higher',
  TOKEN_BUDGET: 'Did not fit the token budget',
  DUPLICATE: 'The same text is delivered already',
  DLP_BLOCKED: 'Barred by the data-loss policy',
  MISSING_ACCESS_POLICY: 'Its source has no access policy',
  STALE_INDEX: 'From an outdated index',
};

export const STAGES: Readonly<Record<string, string>> = {
  authorise: 'Access',
  gather: 'Search',
  index: 'Index',
  near_miss: 'Near miss',
  cap: 'Ranking and caps',
  recall: 'Memories',
  related: 'Related code',
  redact: 'Redaction',
  budget: 'Token budget',
  delivered: 'Delivered',
};

/** The stages in the order in which they cut. */
export const STAGE_ORDER: readonly string[] = ['index', 'cap', 'recall', 'related', 'redact', 'budget'];

/** Stages that speak of what was never a candidate. */
export const OUTSIDE: readonly string[] = ['authorise', 'gather', 'near_miss'];

export const LIMITATIONS: Readonly<Record<string, string>> = {
  SCOPE_APPLIED: 'Only what you may read was searched.',
  PROVIDER_SCOPE_APPLIED: 'Your credential admits only some providers, and only those were searched.',
  NO_CONTEXT: 'Nothing is delivered.',
  HISTORICAL_READ: 'This is an answer as of a moment in the past.',
  TEXT_ONLY: 'Words were compared, meanings were not.',
  TEXT_QUERY_EMPTY: 'The question holds no word that can be searched for.',
  STALE_EMBEDDINGS: 'Some candidates have no embedding yet, so only their words counted.',
  CANDIDATES_TRUNCATED: 'There were more memories than are looked at; the newest were.',
  DEGRADED: 'An optional stage was left out.',
  MISSING_SYNC_TIMESTAMP: 'A source of this answer was never read to its end.',
  MISSING_SOURCE_ACCESS_POLICY: 'A source of this answer carries no access policy.',
};

export const DRIFTS: Readonly<Record<string, string>> = {
  CONTENT_CORRECTED: 'Corrected since',
  CONTENT_ADDED: 'Something new takes part',
  EXPIRED: 'No longer true',
  ERASED: 'Erased',
  SOURCE_REMOVED: 'Source removed',
  PERMISSION_CHANGED: 'Permissions changed',
  WEIGHTS_CHANGED: 'Weights changed',
  POLICY_CHANGED: 'Policy changed',
  MODEL_CHANGED: 'Model changed',
  APPROXIMATE: 'Cannot be repeated exactly',
  HASH_MISMATCH: 'A text was changed in place',
  STORE_CHANGED: 'Rows were changed in place',
  RANKING_CHANGED: 'Ranks otherwise',
  RECORD_ALTERED: 'The record was altered',
  TRACE_ALTERED: 'The trace was altered',
};

export function plain(words: Readonly<Record<string, string>>, code: string): string {
  return words[code] ?? code.toLowerCase().replaceAll('_', ' ');
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
