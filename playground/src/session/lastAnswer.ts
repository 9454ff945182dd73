/** What the last retrieval left behind, offered to the operations that follow it up. */
export interface LastAnswer {
  attributionId: string | null;
  knownAt: string | null;
}

let last: LastAnswer = { attributionId: null, knownAt: null };

export function lastAnswer(): LastAnswer {
  return last;
}

/** Remembers the attribution id and the recorded clock of any retrieval in a GraphQL response body. */
export function rememberAnswer(body: unknown): void {
  for (const answer of Object.values(field(body, 'data') ?? {})) {
    const attributionId = field(answer, 'attributionId');
    if (typeof attributionId !== 'string') continue;
    const knownAt = field(field(answer, 'contract'), 'knownAt');
    last = { attributionId, knownAt: typeof knownAt === 'string' ? knownAt : null };
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
