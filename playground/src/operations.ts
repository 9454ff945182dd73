import { lastAnswer, type LastAnswer } from './session/lastAnswer';
import askAsOfQuery from './operations/ask-as-of.graphql?raw';
import askThroughALensQuery from './operations/ask-through-a-lens.graphql?raw';
import askWithMemoriesQuery from './operations/ask-with-memories.graphql?raw';
import askQuery from './operations/ask.graphql?raw';
import attributionQuery from './operations/attribution.graphql?raw';
import certificateQuery from './operations/certificate.graphql?raw';
import checkpointQuery from './operations/checkpoint.graphql?raw';
import compareTwoMomentsQuery from './operations/compare-two-moments.graphql?raw';
import consistencyProofQuery from './operations/consistency-proof.graphql?raw';
import correctAMemoryQuery from './operations/correct-a-memory.graphql?raw';
import createALensQuery from './operations/create-a-lens.graphql?raw';
import documentAsOfQuery from './operations/document-as-of.graphql?raw';
import forgetASubjectQuery from './operations/forget-a-subject.graphql?raw';
import historyOfADocumentQuery from './operations/history-of-a-document.graphql?raw';
import historyOfAMemoryQuery from './operations/history-of-a-memory.graphql?raw';
import impactQuery from './operations/impact.graphql?raw';
import inclusionProofQuery from './operations/inclusion-proof.graphql?raw';
import lensesQuery from './operations/lenses.graphql?raw';
import levelWeightsQuery from './operations/level-weights.graphql?raw';
import linkAResponseQuery from './operations/link-a-response.graphql?raw';
import memoriesOfASubjectQuery from './operations/memories-of-a-subject.graphql?raw';
import rememberQuery from './operations/remember.graphql?raw';
import replayQuery from './operations/replay.graphql?raw';
import setLevelWeightsQuery from './operations/set-level-weights.graphql?raw';
import spacesAndStatusQuery from './operations/spaces-and-status.graphql?raw';
import staleAttributionsQuery from './operations/stale-attributions.graphql?raw';
import traceQuery from './operations/trace.graphql?raw';
import verifyChainQuery from './operations/verify-chain.graphql?raw';
import whatWasLeftOutQuery from './operations/what-was-left-out.graphql?raw';
import whoAmIQuery from './operations/who-am-i.graphql?raw';
import whyWasThisLeftOutQuery from './operations/why-was-this-left-out.graphql?raw';

export interface SavedOperation {
  /** Name of the operation in its document; GraphiQL titles the tab with it. */
  name: string;
  title: string;
  summary: string;
  query: string;
  /** JSON text for the variables editor, made when the operation is opened. */
  variables: () => string;
}

export interface OperationGroup {
  title: string;
  operations: SavedOperation[];
}

const DAY_MS = 24 * 60 * 60 * 1000;
const QUESTION = 'How is evidence kept and checked?';
const SPACE = 'muniment';
const SUBJECT = 'ada';

const noVariables = () => '';
const asJson = (value: object) => JSON.stringify(value, null, 2);
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

/** An id that the last answer left, or words that say where it comes from. */
function of(name: keyof LastAnswer): string {
  return String(lastAnswer()[name] ?? (name === 'memoryId' ? 'run Remember first' : 'run Ask first'));
}

export const firstOperation: SavedOperation = {
  name: 'Ask',
  title: 'Ask',
  summary: 'What should the model read? Passages, citations, exclusions and the contract.',
  query: askQuery,
  variables: () => asJson({ query: QUESTION, spaceKey: SPACE }),
};

export const operationGroups: OperationGroup[] = [
  {
    title: 'Ask',
    operations: [
      firstOperation,
    ],
  },
  {
    title: 'Ask as of',
    operations: [
      {
        name: 'AskAsOf',
        title: 'Ask as of',
        summary: 'The same question at a moment of each clock: when it was true, and when we knew it.',
        query: askAsOfQuery,
        variables: () => asJson({ query: QUESTION, spaceKey: SPACE, asOf: ago(DAY_MS), knownAt: lastAnswer().knownAt }),
      },
    ],
  },
  {
    title: 'Compare',
    operations: [
      {
        name: 'CompareTwoMoments',
        title: 'Compare two moments',
        summary: 'What came, went and changed between two points of time.',
        query: compareTwoMomentsQuery,
        variables: () => asJson({
          input: { query: QUESTION, spaceKey: SPACE },
          then: { asOf: ago(DAY_MS), knownAt: null },
          now: { asOf: null, knownAt: null },
        }),
      },
    ],
  },
  {
    title: 'Why was this left out',
    operations: [
      {
        name: 'WhatWasLeftOut',
        title: 'What was left out',
        summary: 'By stage and reason, adding up to the candidates.',
        query: whatWasLeftOutQuery,
        variables: () => asJson({ query: QUESTION, spaceKey: SPACE, tokenBudget: 400 }),
      },
      {
        name: 'WhyWasThisLeftOut',
        title: 'Why was this left out',
        summary: 'Of one chunk, document or memory, for the last answer.',
        query: whyWasThisLeftOutQuery,
        variables: () => asJson({ requestId: of('requestId'), itemId: of('documentId') }),
      },
      {
        name: 'Trace',
        title: 'Trace',
        summary: 'Every candidate of the last answer, and what became of it.',
        query: traceQuery,
        variables: () => asJson({ id: of('traceId') }),
      },
    ],
  },
  {
    title: 'History',
    operations: [
      {
        name: 'HistoryOfADocument',
        title: 'History of a document',
        summary: 'Everything ever believed of it; filled in with the last answer’s best.',
        query: historyOfADocumentQuery,
        variables: () => asJson({ id: of('documentId') }),
      },
      {
        name: 'DocumentAsOf',
        title: 'Document as of',
        summary: 'Its text at a point of both clocks.',
        query: documentAsOfQuery,
        variables: () => asJson({ id: of('documentId'), asOf: null, knownAt: null }),
      },
    ],
  },
  {
    title: 'Prove',
    operations: [
      {
        name: 'Certificate',
        title: 'Certificate',
        summary: 'An answer with its signed certificate.',
        query: certificateQuery,
        variables: () => asJson({ query: QUESTION, spaceKey: SPACE }),
      },
      {
        name: 'VerifyChain',
        title: 'Verify chain',
        summary: 'Walks the chain of evidence and gives its verdict.',
        query: verifyChainQuery,
        variables: noVariables,
      },
      {
        name: 'Checkpoint',
        title: 'Checkpoint',
        summary: 'The newest signed root over all evidence.',
        query: checkpointQuery,
        variables: noVariables,
      },
      {
        name: 'Attribution',
        title: 'Attribution',
        summary: 'The record of one delivery; filled in with the last answer.',
        query: attributionQuery,
        variables: () => asJson({ id: of('attributionId') }),
      },
      {
        name: 'InclusionProof',
        title: 'Inclusion proof',
        summary: 'That this record is in the tree, checkable without a secret.',
        query: inclusionProofQuery,
        variables: () => asJson({ id: of('attributionId') }),
      },
      {
        name: 'ConsistencyProof',
        title: 'Consistency proof',
        summary: 'That the tree of today goes on from an earlier one.',
        query: consistencyProofQuery,
        variables: () => asJson({ from: 1, to: lastAnswer().treeSize ?? 1 }),
      },
    ],
  },
  {
    title: 'Replay',
    operations: [
      {
        name: 'Replay',
        title: 'Replay',
        summary: 'The last retrieval made again: the same, bit for bit, or what drifted.',
        query: replayQuery,
        variables: () => asJson({ id: of('attributionId'), against: 'RECORDED' }),
      },
    ],
  },
  {
    title: 'Impact',
    operations: [
      {
        name: 'LinkAResponse',
        title: 'Link a response',
        summary: 'Record that a response used the last answer.',
        query: linkAResponseQuery,
        variables: () => asJson({ attributionId: of('attributionId'), responseId: 'example-response' }),
      },
      {
        name: 'Impact',
        title: 'Impact',
        summary: 'Who was given this document, and what was made of it.',
        query: impactQuery,
        variables: () => asJson({ itemId: of('documentId') }),
      },
    ],
  },
  {
    title: 'Stale attributions',
    operations: [
      {
        name: 'StaleAttributions',
        title: 'Stale attributions',
        summary: 'Answers of which something has moved since.',
        query: staleAttributionsQuery,
        variables: () => asJson({ since: ago(7 * DAY_MS) }),
      },
    ],
  },
  {
    title: 'Weights and lenses',
    operations: [
      {
        name: 'LevelWeights',
        title: 'Level weights',
        summary: 'What each level of the tree of spaces weighs.',
        query: levelWeightsQuery,
        variables: () => asJson({ knownAt: null }),
      },
      {
        name: 'SetLevelWeights',
        title: 'Set level weights',
        summary: 'Replaces the organisation’s own weights; as it stands here, it resets them.',
        query: setLevelWeightsQuery,
        variables: () => asJson({ overrides: [] }),
      },
      {
        name: 'CreateALens',
        title: 'Create a lens',
        summary: 'A saved set of spaces and filters.',
        query: createALensQuery,
        variables: () => asJson({ input: { name: 'Code', spaceKey: SPACE, sourceKinds: ['codebase'] } }),
      },
      {
        name: 'Lenses',
        title: 'Lenses',
        summary: 'Those that you may look through.',
        query: lensesQuery,
        variables: noVariables,
      },
      {
        name: 'AskThroughALens',
        title: 'Ask through a lens',
        summary: 'A question narrowed by the lens that was made last.',
        query: askThroughALensQuery,
        variables: () => asJson({ query: QUESTION, spaceKey: SPACE, lensId: lastAnswer().lensId }),
      },
    ],
  },
  {
    title: 'Remember, correct, forget',
    operations: [
      {
        name: 'Remember',
        title: 'Remember',
        summary: 'Something about a subject, from now on.',
        query: rememberQuery,
        variables: () => asJson({ input: { text: 'Ada wants every answer with its sources.', subjectId: SUBJECT, spaceKey: SPACE, importance: 0.8 } }),
      },
      {
        name: 'AskWithMemories',
        title: 'Ask with memories',
        summary: 'The subject’s memories beside the passages.',
        query: askWithMemoriesQuery,
        variables: () => asJson({ query: 'How does Ada want her answers?', spaceKey: SPACE, subjectId: SUBJECT }),
      },
      {
        name: 'CorrectAMemory',
        title: 'Correct a memory',
        summary: 'The same period, another belief; the old one stays in the history.',
        query: correctAMemoryQuery,
        variables: () => asJson({ id: of('memoryId'), changes: { text: 'Ada wants every answer with its sources and dates.' } }),
      },
      {
        name: 'HistoryOfAMemory',
        title: 'History of a memory',
        summary: 'Both beliefs, each with its rectangle.',
        query: historyOfAMemoryQuery,
        variables: () => asJson({ id: of('memoryId') }),
      },
      {
        name: 'MemoriesOfASubject',
        title: 'Memories of a subject',
        summary: 'What is believed of it, at a point of both clocks.',
        query: memoriesOfASubjectQuery,
        variables: () => asJson({ subjectId: SUBJECT, spaceKey: SPACE, asOf: null, knownAt: null }),
      },
      {
        name: 'ForgetASubject',
        title: 'Forget a subject',
        summary: 'Erases everything held of it. There is no way back.',
        query: forgetASubjectQuery,
        variables: () => asJson({ subjectId: SUBJECT, spaceKey: SPACE }),
      },
    ],
  },
  {
    title: 'Here',
    operations: [
      {
        name: 'WhoAmI',
        title: 'Who am I',
        summary: 'The principal behind the token.',
        query: whoAmIQuery,
        variables: noVariables,
      },
      {
        name: 'SpacesAndStatus',
        title: 'Spaces and status',
        summary: 'Where retrieval may look, and how the deployment is doing.',
        query: spacesAndStatusQuery,
        variables: noVariables,
      },
    ],
  },
];
