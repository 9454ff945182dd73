/** What the last answers on this page left behind, offered to the operations that follow them up. */
export interface LastAnswer {
  attributionId: string | null;
  requestId: string | null;
  traceId: string | null;
  knownAt: string | null;
  documentId: string | null;
  memoryId: string | null;
  lensId: string | null;
  treeSize: string | number | null;
}

let last: LastAnswer = {
  attributionId: null,
  requestId: null,
  traceId: null,
  knownAt: null,
  documentId: null,
  memoryId: null,
  lensId: null,
  treeSize: null,
};

export function lastAnswer(): LastAnswer {
  return last;
}

/** Remembers the ids in a GraphQL response body: of any retrieval, and of what was made by name. */
export function rememberAnswer(body: unknown): void {
  for (const [name, answer] of Object.entries(field(body, 'data') ?? {})) {
    const id = text(field(answer, 'id'));
    if (name === 'remember' && id) last = { ...last, memoryId: id };
    if (name === 'createLens' && id) last = { ...last, lensId: id };
    const treeSize = field(answer, 'treeSize');
    if (typeof treeSize === 'number' || typeof treeSize === 'string') last = { ...last, treeSize };
    const [attributionId, requestId] = [text(field(answer, 'attributionId')), text(field(answer, 'requestId'))];
    if (attributionId === null || requestId === null) continue;
    last = {
      ...last,
      attributionId,
      requestId,
      traceId: text(field(answer, 'traceId')) ?? last.traceId,
      knownAt: text(field(field(answer, 'contract'), 'knownAt')) ?? last.knownAt,
      documentId: text(field(field(field(answer, 'passages'), '0'), 'documentId')) ?? last.documentId,
    };
  }
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
