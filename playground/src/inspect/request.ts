import { ask } from '../api/client';
import { COMPARE, momentsOf, RETRIEVE } from '../api/operations';
import type { Answer, Bounds, Comparison, Passage } from '../api/types';
import type { Address } from '../session/address';
import { momentsIn, type Moments } from './moments';

/** An answer, and, where it is of another moment than now, how it differs from today's. */
export interface Shown {
  answer: Answer;
  comparison: Comparison | null;
  /** Most tokens; null: not trimmed. */
  budget: number | null;
}

const NUMBERS = { topK: 'topK', budget: 'tokenBudget', perDocument: 'maxPassagesPerDocument', perLevel: 'maxPerLevel' } as const;

/** The input of a retrieval that the address asks for, without its clocks. */
export function inputOf(address: Address, space: string): Record<string, unknown> {
  const input: Record<string, unknown> = { query: address.q, spaceKey: space };
  if (address.subject) input['subjectId'] = address.subject;
  for (const [from, to] of Object.entries(NUMBERS)) {
    const typed = address[from as keyof typeof NUMBERS];
    if (typed) input[to] = Number(typed);
  }
  if (address.minScore) input['minScore'] = Number(address.minScore);
  if (address.mmr) input['mmrLambda'] = Number(address.mmr);
  if (address.related === 'no') input['excludeRelated'] = true;
  if (address.memories === 'no') input['includeMemories'] = false;
  return input;
}

/** Two addresses with the same key ask the same. */
export function keyOf(address: Address, space: string): string {
  return JSON.stringify([inputOf(address, space), address.asOf, address.knownAt]);
}

export async function request(token: string, address: Address, space: string, signal: AbortSignal): Promise<Shown> {
  const input = inputOf(address, space);
  if (!address.asOf && !address.knownAt) {
    const { retrieve } = await ask(token, RETRIEVE, { input }, signal);
    return { answer: retrieve, comparison: null, budget: retrieve.contract.parameters.tokenBudget };
  }
  const then = { asOf: address.asOf || null, knownAt: address.knownAt || null };
  const { compareRetrievals } = await ask(token, COMPARE, { input, then }, signal);
  const answer = compareRetrievals.left;
  return { answer, comparison: compareRetrievals, budget: answer.contract.parameters.tokenBudget };
}

/** Id of the document or the memory behind a passage. */
export function factOf(passage: Passage): string | null {
  return passage.documentId ?? passage.memoryId;
}

export function everything(answer: Answer): Passage[] {
  return [...answer.passages, ...answer.memories, ...answer.groupMemories];
}

const MOST_FACTS = 10;

/** When what is cited, or what would be cited today, changed. */
export async function readMoments(token: string, facts: readonly string[], signal: AbortSignal): Promise<Moments> {
  const asked = facts.slice(0, MOST_FACTS);
  if (asked.length === 0) return { valid: [], known: [] };
  const variables = Object.fromEntries(asked.map((id, index) => [`i${index}`, id]));
  const histories = await ask(token, momentsOf(asked.length), variables, signal);
  const bounds: Bounds[] = Object.values(histories).flatMap((item) => item.edges.map((edge) => edge.node));
  return momentsIn(bounds);
}
