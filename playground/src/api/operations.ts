import type { Operation } from './client';
import type {
  Answer,
  Bounds,
  Candidate,
  Checkpoint,
  Comparison,
  Explanation,
  Here,
  Impact,
  InclusionProof,
  Replay,
  StandingRecord,
  VerificationEvent,
  Versions,
} from './types';

/** What the inspector asks of the API; `tests/browser/test_inspector.py` has the server answer each. */

const PASSAGE = `fragment Shown on Passage {
  text score tokens chunkId documentId memoryId spaceKey level provider validFrom validTo systemFrom
  epistemicStatus confidence contentSha256 justification
  citation { index sourceType title externalId headingPath page sheet rowStart rowEnd url }
  freshness { sourceUpdatedAt ingestedAt syncedAt ageHours }
  scores { vector text levelWeight similarity recency importance frequency rerank }
  related { to relation }
}`;

const ANSWER = `fragment Whole on RetrievalResult {
  contract {
    requestId issuedAt validAt knownAt actorType spaceKey rewrittenQuery
    parameters { topK maxPerLevel maxPassagesPerDocument tokenBudget }
  }
  query
  passages { ...Shown }
  memories { ...Shown }
  groupMemories { ...Shown }
  exclusions { type stage provider sourceKind count reason }
  limitations { code message count }
  sourcesSummary { sourceId name kind passages tokens }
  tokensTotal droppedCount attributionId requestId traceId certificate
  searchMeta { vectorMode candidates cacheHit stageTimings { totalMs } }
}
${PASSAGE}`;

export const RETRIEVE: Operation<{ retrieve: Answer }> = {
  text: `query Inspect($input: RetrieveInput!) { retrieve(input: $input) { ...Whole } }
${ANSWER}`,
};

/** Left: the moment that is looked at. Right: now. */
export const COMPARE: Operation<{ compareRetrievals: Comparison }> = {
  text: `query InspectThenAndNow($input: RetrieveInput!, $then: PointInput!) {
  compareRetrievals(input: $input, left: $then, right: {}) {
    left { ...Whole }
    right { attributionId contract { validAt knownAt } }
    added { ...Shown }
    removed { ...Shown }
    changed { left { ...Shown } right { ...Shown } }
  }
}
${ANSWER}`,
};

export const HERE: Operation<Here> = {
  text: `query Here {
  me { id organisationId externalId activeSpace { keyPath } }
  spaces(first: 100) { edges { node { keyPath name level } } }
  capabilities {
    topK { default greatest } maxPerLevel { default greatest }
    maxPassagesPerDocument { default greatest } tokenBudget { default greatest }
  }
}`,
};

export const HISTORY: Operation<{ history: Versions }> = {
  text: `query History($id: ID!) {
  history(id: $id, first: 100) {
    edges { node { id kind validFrom validTo systemFrom systemTo value } }
    pageInfo { hasNextPage }
  }
}`,
};

export const DOCUMENT_AT: Operation<{ document: { title: string; text: string } | null }> = {
  text: `query DocumentAt($id: ID!, $asOf: Instant, $knownAt: Instant) {
  document(id: $id, asOf: $asOf, knownAt: $knownAt) { title text }
}`,
};

export const MEMORY_AT: Operation<{ memory: { text: string } | null }> = {
  text: `query MemoryAt($id: ID!, $asOf: Instant, $knownAt: Instant) {
  memory(id: $id, asOf: $asOf, knownAt: $knownAt) { text }
}`,
};

export type Moments = Record<string, { edges: { node: Bounds }[] }>;

/** The bounds of the histories of up to `count` facts, in one request. */
export function momentsOf(count: number): Operation<Moments> {
  const numbers = [...Array(count).keys()];
  const variables = numbers.map((number) => `$i${number}: ID!`).join(', ');
  const fields = numbers.map((number) => `h${number}: history(id: $i${number}, first: 30) { ...Bounds }`).join('\n');
  return {
    text: `query Moments(${variables}) {
${fields}
}
fragment Bounds on FactVersionConnection { edges { node { validFrom validTo systemFrom systemTo } } }`,
  };
}

export type Names = Record<string, { externalId: string; title: string } | null>;

export function namesOf(count: number): Operation<Names> {
  const numbers = [...Array(count).keys()];
  const variables = numbers.map((number) => `$i${number}: ID!`).join(', ');
  const fields = numbers.map((number) => `n${number}: document(id: $i${number}) { externalId title }`).join('\n');
  return { text: `query Names(${variables}) {\n${fields}\n}` };
}

const CANDIDATE = `fragment Found on TraceCandidate {
  kind itemId documentId memoryId stage type index rank score
}`;

interface Candidates {
  trace: { candidates: { edges: { node: Candidate }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } };
}

export const TRACE: Operation<Candidates> = {
  text: `query LeftOut($id: ID!, $after: String) {
  trace(id: $id) {
    candidates(first: 100, after: $after) { edges { node { ...Found } } pageInfo { hasNextPage endCursor } }
  }
}
${CANDIDATE}`,
};

export const EXPLAIN: Operation<{ explainExclusion: Explanation }> = {
  text: `query WhyLeftOut($requestId: ID!, $itemId: ID!) {
  explainExclusion(requestId: $requestId, itemId: $itemId) {
    outcome reason stage type candidate { ...Found }
  }
}
${CANDIDATE}`,
};

const RECORD = 'id requestId category state sequence queuedAt';

export const STANDING: Operation<{ attribution: StandingRecord }> = {
  text: `query Standing($id: ID!) { attribution(id: $id) { ${RECORD} } }`,
};

export const LEAF: Operation<{ evidenceLeaf: { sequence: number | string; data: string } }> = {
  text: 'query Leaf($id: ID!) { evidenceLeaf(attributionId: $id) { sequence data } }',
};

const CHECKPOINT_FIELDS = 'origin treeSize root note keyId issuedAt';

export const INCLUSION: Operation<{ inclusionProof: InclusionProof }> = {
  text: `query Inclusion($id: ID!) {
  inclusionProof(attributionId: $id) {
    attributionId sequence treeSize leafHash root hashes checkpoint { ${CHECKPOINT_FIELDS} }
  }
}`,
};

export const CHECKPOINT: Operation<{ checkpoint: Checkpoint | null }> = {
  text: `query NewestCheckpoint { checkpoint { ${CHECKPOINT_FIELDS} } }`,
};

export const HEAD: Operation<{ status: { chainHeadSequence: number | string } }> = {
  text: 'query ChainHead { status { chainHeadSequence } }',
};

export const VERIFY: Operation<{ chainVerification: VerificationEvent }> = {
  text: `subscription Verify {
  chainVerification { checkedRecords totalRecords verification { verdict firstBadSequence checkedRecords reason } }
}`,
};

export const REPLAY: Operation<{ replay: Replay }> = {
  text: `query Again($id: ID!, $query: String, $against: ReplayAgainst!) {
  replay(attributionId: $id, query: $query, against: $against) {
    verdict reasons drifts { type message itemIds } traced compared validAt knownAt
    items { itemId documentId memoryId recordedPlace recordedSha256 recordedScore place sha256 score }
  }
}`,
};

export const IMPACT: Operation<{ impact: { edges: { node: Impact }[]; pageInfo: { hasNextPage: boolean } } }> = {
  text: `query UsedBy($id: ID!) {
  impact(itemId: $id, first: 30) {
    edges { node { attribution { ${RECORD} } itemIds responses { responseId linkedAt } } }
    pageInfo { hasNextPage }
  }
}`,
};
