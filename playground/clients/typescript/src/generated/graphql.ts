/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { Int64, Instant, Json } from '../scalars.js';
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** How passages are cut to the token budget. The ranking is never touched. */
export type BudgetStrategy =
  /** Drops from the lowest score up until the rest fits. */
  | 'DROP_LOWEST'
  /** As DROP_LOWEST, except that the best passage always stays. */
  | 'KEEP_FIRST'
  /** Goes down the ranking and takes whatever still fits. */
  | 'PACK';

/** Why something was left out of an answer. */
export type ExclusionType =
  /** The request's own filters set it aside. */
  | 'CALLER_FILTER'
  /** It says much the same as something that ranked higher. */
  | 'DIVERSITY'
  /** The organisation's data-loss policy bars it from delivery. */
  | 'DLP_BLOCKED'
  /** The same text was delivered already. */
  | 'DUPLICATE'
  /** It matches, and no longer held at `validAt`; a count of documents. */
  | 'EXPIRED'
  /** Its score was below `minScore`. */
  | 'MIN_SCORE'
  /** Its source carries no access policy. */
  | 'MISSING_ACCESS_POLICY'
  /** It matches, and holds only after `validAt`; a count of documents. */
  | 'NOT_YET_VALID'
  /** The search found nothing. */
  | 'NO_RESULTS'
  /** Enough passages of the same document ranked higher. */
  | 'PER_DOCUMENT_CAP'
  /** Enough passages from the same level of the space tree ranked higher. */
  | 'PER_LEVEL_CAP'
  /** The credential does not admit the provider. */
  | 'PROVIDER_SCOPE'
  /** It belongs to an index version that is no longer current. */
  | 'STALE_INDEX'
  /** It matched, and a later belief had taken its place at `knownAt`; a count of documents. */
  | 'SUPERSEDED'
  /** It did not fit into the token budget. */
  | 'TOKEN_BUDGET'
  /** More passages ranked higher than were asked for. */
  | 'TOP_K';

/** What a careful reader of an answer should know about it. */
export type LimitationCode =
  /** The token budget kept something out; `count` would have kept more. */
  | 'BUDGET_TOO_SMALL'
  /** There were more candidates than are looked at. */
  | 'CANDIDATES_TRUNCATED'
  /** An optional stage was left out. */
  | 'DEGRADED'
  /** The answer is as of a moment in the past. */
  | 'HISTORICAL_READ'
  /** A source of the answer carries no access policy. */
  | 'MISSING_SOURCE_ACCESS_POLICY'
  /** A source of the answer was never synchronised to its end. */
  | 'MISSING_SYNC_TIMESTAMP'
  /** Nothing is delivered. */
  | 'NO_CONTEXT'
  /** The credential admits some providers only. */
  | 'PROVIDER_SCOPE_APPLIED'
  /** Only what the caller may read was searched. Always present. */
  | 'SCOPE_APPLIED'
  /** Some candidates have no embedding of the current model. */
  | 'STALE_EMBEDDINGS'
  /** Only words were compared, no meanings. */
  | 'TEXT_ONLY'
  /** The question holds no word that can be searched for. */
  | 'TEXT_QUERY_EMPTY';

/** What became of an item that was delivered. */
export type Movement =
  /** It held then, and by a later write no longer does. */
  | 'CHANGED'
  /** It is believed now that it said something else at the point of time that was read. */
  | 'CORRECTED'
  /** It was erased for good. */
  | 'ERASED'
  /** It is no longer believed to have held then. */
  | 'RETRACTED'
  /** The source that it came from was removed. */
  | 'SOURCE_REMOVED';

/** How far a record has come. */
export type RecordState =
  /** In the chain, at `sequence`. */
  | 'CHAINED'
  /** Durable, and waiting for its place in the chain. */
  | 'QUEUED';

/** One question to the store. Filters: null is not given, an empty list admits nothing. */
export type RetrieveInput = {
  /** Point of valid time; now by default. */
  asOf?: Instant | null | undefined;
  /** How passages are cut to the budget. */
  budgetStrategy?: BudgetStrategy;
  /** Whether to leave out the callers, callees and tests of the best code. */
  excludeRelated?: boolean;
  /** Whether memories are recalled at all. */
  includeMemories?: boolean;
  /** Point of system time; now by default. */
  knownAt?: Instant | null | undefined;
  /** Milliseconds after which no optional stage is entered; the legs always answer. */
  latencyBudgetMs?: number | null | undefined;
  /** A saved lens: what its filters and the request's own both admit is searched, in those of its spaces that would be searched anyway. Of memories it limits only those of a space itself, by its spaces. */
  lensId?: string | null | undefined;
  /** Most memories, and most group memories: 10 by default, at most 50. */
  maxMemories?: number | null | undefined;
  /** Most passages of one document: 2 by default, at most 50. */
  maxPassagesPerDocument?: number | null | undefined;
  /** Most passages from spaces of one level: 5 by default, at most 50. */
  maxPerLevel?: number | null | undefined;
  /** Least score of a passage. */
  minScore?: number | null | undefined;
  /** Maximal marginal relevance: 1 is relevance order exactly, 0 pure diversity; null: off. */
  mmrLambda?: number | null | undefined;
  /** Only sources of these providers. */
  providers?: Array<string> | null | undefined;
  /** The question in plain words; what stands in quotes counts as one phrase. Null: no passages. */
  query?: string | null | undefined;
  /** The caller's session, kept in the evidence. */
  sessionId?: string | null | undefined;
  /** Only sources of these kinds. */
  sourceKinds?: Array<string> | null | undefined;
  /** The space to ask from, by id. With no space named here the header `X-Muniment-Space` decides, then the caller's active space; then it is the organisation's own. */
  spaceId?: string | null | undefined;
  /** The same by key path; `/` is the organisation. */
  spaceKey?: string | null | undefined;
  /** Whose memories count; never limits passages. Compared whole. */
  subjectId?: string | null | undefined;
  /** Only documents that carry one of these tags. Never limits memories. */
  tags?: Array<string> | null | undefined;
  /** Most tokens: 4096 by default, at most 32000; null does not trim. */
  tokenBudget?: number | null | undefined;
  /** Most passages: 8 by default, at most 50. */
  topK?: number | null | undefined;
};

export type AskQueryVariables = Exact<{
  input: RetrieveInput;
}>;


export type AskQuery = { retrieve: { attributionId: string, passages: Array<{ text: string, score: number, validFrom: Instant | null, validTo: Instant | null, accessPolicy: Json | null, citation: { index: number, title: string, externalId: string, headingPath: string | null, page: number | null, sheet: string | null, rowStart: number | null, rowEnd: number | null, url: string | null } }>, exclusions: Array<{ type: ExclusionType, stage: string, count: number | null }>, limitations: Array<{ code: LimitationCode, message: string }>, contract: { validAt: Instant, knownAt: Instant } } };

export type LinkMutationVariables = Exact<{
  attributionId: string;
  responseId: string;
}>;


export type LinkMutation = { linkResponse: { attributionId: string, responseId: string } };

export type RecordQueryVariables = Exact<{
  id: string;
}>;


export type RecordQuery = { attribution: { id: string, state: RecordState, sequence: Int64 | null, record: Json } };

export type FollowSubscriptionVariables = Exact<{
  attributionId: string;
}>;


export type FollowSubscription = { contextChanged: { attribution: { id: string }, moved: Array<{ itemId: string, wholeId: string, movement: Movement, at: Instant | null }> } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, unknown> | undefined;

  constructor(value: string, __meta__?: Record<string, unknown> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}

export const AskDocument = new TypedDocumentString(`
    query Ask($input: RetrieveInput!) {
  retrieve(input: $input) {
    attributionId
    passages {
      text
      score
      validFrom
      validTo
      accessPolicy
      citation {
        index
        title
        externalId
        headingPath
        page
        sheet
        rowStart
        rowEnd
        url
      }
    }
    exclusions {
      type
      stage
      count
    }
    limitations {
      code
      message
    }
    contract {
      validAt
      knownAt
    }
  }
}
    `) as unknown as TypedDocumentString<AskQuery, AskQueryVariables>;
export const LinkDocument = new TypedDocumentString(`
    mutation Link($attributionId: ID!, $responseId: String!) {
  linkResponse(attributionId: $attributionId, responseId: $responseId) {
    attributionId
    responseId
  }
}
    `) as unknown as TypedDocumentString<LinkMutation, LinkMutationVariables>;
export const RecordDocument = new TypedDocumentString(`
    query Record($id: ID!) {
  attribution(id: $id) {
    id
    state
    sequence
    record
  }
}
    `) as unknown as TypedDocumentString<RecordQuery, RecordQueryVariables>;
export const FollowDocument = new TypedDocumentString(`
    subscription Follow($attributionId: ID!) {
  contextChanged(attributionId: $attributionId) {
    attribution {
      id
    }
    moved {
      itemId
      wholeId
      movement
      at
    }
  }
}
    `) as unknown as TypedDocumentString<FollowSubscription, FollowSubscriptionVariables>;