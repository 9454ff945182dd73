import type { Big } from './client';

/** What the operations in `api/operations.ts` answer: exactly the fields that they select. */

export interface Citation {
  index: number;
  sourceType: string;
  title: string;
  externalId: string;
  headingPath: string | null;
  page: number | null;
  sheet: string | null;
  rowStart: number | null;
  rowEnd: number | null;
  url: string | null;
}

export interface Scores {
  vector: number | null;
  text: number | null;
  levelWeight: number | null;
  similarity: number | null;
  recency: number | null;
  importance: number | null;
  frequency: number | null;
  rerank: number | null;
}

export interface Freshness {
  sourceUpdatedAt: string | null;
  ingestedAt: string;
  syncedAt: string | null;
  ageHours: number | null;
}

export interface Passage {
  text: string;
  score: number;
  tokens: number;
  citation: Citation;
  chunkId: string | null;
  documentId: string | null;
  memoryId: string | null;
  spaceKey: string;
  level: string;
  provider: string;
  validFrom: string | null;
  validTo: string | null;
  systemFrom: string;
  epistemicStatus: string;
  confidence: number | null;
  freshness: Freshness;
  contentSha256: string;
  scores: Scores;
  justification: string | null;
  related: { to: string; relation: 'CALLS' | 'CALLED_BY' | 'TESTED_BY' } | null;
}

export interface Exclusion {
  type: string;
  stage: string;
  provider: string | null;
  sourceKind: string | null;
  count: number | null;
  reason: string;
}

export interface Limitation {
  code: string;
  message: string;
  count: number | null;
}

export interface Answer {
  contract: {
    requestId: string;
    issuedAt: string;
    validAt: string;
    knownAt: string;
    actorType: string;
    spaceKey: string | null;
    rewrittenQuery: string | null;
    parameters: { topK: number; maxPerLevel: number; maxPassagesPerDocument: number; tokenBudget: number | null };
  };
  query: string | null;
  passages: Passage[];
  memories: Passage[];
  groupMemories: Passage[];
  exclusions: Exclusion[];
  limitations: Limitation[];
  sourcesSummary: { sourceId: string; name: string; kind: string; passages: number; tokens: number }[];
  tokensTotal: number;
  droppedCount: number;
  attributionId: string;
  requestId: string;
  traceId: string | null;
  certificate: string | null;
  searchMeta: { vectorMode: string; candidates: number; cacheHit: boolean; stageTimings: { totalMs: number } };
}

export interface Changed {
  left: Passage;
  right: Passage;
}

export interface Comparison {
  left: Answer;
  right: { attributionId: string; contract: { validAt: string; knownAt: string } };
  added: Passage[];
  removed: Passage[];
  changed: Changed[];
}

export interface Space {
  keyPath: string;
  name: string;
  level: string;
}

export interface Here {
  me: { id: string; organisationId: string; externalId: string; activeSpace: { keyPath: string } | null };
  spaces: { edges: { node: Space }[] };
  capabilities: Record<'topK' | 'maxPerLevel' | 'maxPassagesPerDocument' | 'tokenBudget', Limits>;
}

export interface Limits {
  default: number;
  greatest: number;
}

export type FactValue = Record<string, unknown>;

export interface FactVersion {
  id: string;
  kind: 'DOCUMENT' | 'MEMORY' | 'MEMBERSHIP';
  validFrom: string | null;
  validTo: string | null;
  systemFrom: string;
  systemTo: string | null;
  value: FactValue;
}

export interface Versions {
  edges: { node: FactVersion }[];
  pageInfo: { hasNextPage: boolean };
}

export type Bounds = Pick<FactVersion, 'validFrom' | 'validTo' | 'systemFrom' | 'systemTo'>;

export interface Candidate {
  kind: 'PASSAGE' | 'RELATED' | 'MEMORY' | 'GROUP_MEMORY';
  itemId: string;
  documentId: string | null;
  memoryId: string | null;
  stage: string;
  type: string | null;
  index: number | null;
  rank: number | null;
  score: number;
}

export interface Explanation {
  outcome: 'DELIVERED' | 'EXCLUDED' | 'NEVER_A_CANDIDATE';
  reason: string;
  stage: string | null;
  type: string | null;
  candidate: Candidate | null;
}

export interface StandingRecord {
  id: string;
  requestId: string;
  category: string;
  state: 'QUEUED' | 'CHAINED';
  sequence: Big | null;
  queuedAt: string;
}

export interface Checkpoint {
  origin: string;
  treeSize: Big;
  root: string;
  note: string;
  keyId: string;
  issuedAt: string;
}

export interface InclusionProof {
  attributionId: string;
  sequence: Big;
  treeSize: Big;
  leafHash: string;
  root: string;
  hashes: string[];
  checkpoint: Checkpoint | null;
}

export interface Verification {
  verdict: 'VALID' | 'TAMPERED' | 'TRUNCATED' | 'FORKED' | 'UNVERIFIABLE';
  firstBadSequence: Big | null;
  checkedRecords: Big;
  reason: string;
}

export interface VerificationEvent {
  checkedRecords: Big;
  totalRecords: Big;
  verification: Verification | null;
}

export interface ReplayedItem {
  itemId: string;
  documentId: string | null;
  memoryId: string | null;
  recordedPlace: number | null;
  recordedSha256: string | null;
  recordedScore: number | null;
  place: number | null;
  sha256: string | null;
  score: number | null;
}

export interface Replay {
  verdict: 'REPRODUCED' | 'DRIFTED';
  reasons: string[];
  drifts: { type: string; message: string; itemIds: string[] }[];
  items: ReplayedItem[];
  traced: boolean;
  compared: number;
  validAt: string;
  knownAt: string;
}

export interface Impact {
  attribution: StandingRecord;
  itemIds: string[];
  responses: { responseId: string; linkedAt: string }[];
}
