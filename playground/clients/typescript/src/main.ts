/**
 * Asks a question, cites what a model should read, says which response used it, and waits until any of it moves.
 *
 *   MUNIMENT_TOKEN=… node dist/main.js "How are refunds authorised?" handbook
 */
import { randomUUID } from 'node:crypto';
import { ApiError, Muniment } from './client.js';
import type { AskQuery } from './generated/graphql.js';
import { Ask, Follow, Link, Record } from './operations.js';

type Citation = AskQuery['retrieve']['passages'][number]['citation'];

function place({ title, externalId, headingPath, page, sheet, rowStart, rowEnd }: Citation): string {
  const parts = [headingPath, page && `page ${page}`, sheet && `sheet ${sheet}`, rowStart && `rows ${rowStart}–${rowEnd}`];
  return [`${title} (${externalId})`, ...parts.filter(Boolean)].join(', ');
}

async function main(question: string, spaceKey: string | null): Promise<void> {
  const token = process.env['MUNIMENT_TOKEN'];
  if (!token) throw new ApiError('MUNIMENT_TOKEN is not set: `muniment token` prints one', null);
  const muniment = new Muniment(process.env['MUNIMENT_URL'] ?? 'http://127.0.0.1:8000', token);

  const { retrieve: answer } = await muniment.ask(Ask, { input: { query: question, spaceKey, topK: 3 } });
  for (const { text, score, citation, validFrom, validTo } of answer.passages) {
    console.log(`[${citation.index}] ${place(citation)}`);
    console.log(`    holds from ${validFrom ?? 'ever'} to ${validTo ?? 'further notice'}, score ${score.toFixed(3)}`);
    console.log(`    ${text.split(/\s+/).slice(0, 25).join(' ')}`);
  }
  for (const { type, stage, count } of answer.exclusions) console.log(`left out at ${stage}: ${count ?? 'some'} ${type}`);
  for (const { code, message } of answer.limitations) console.log(`${code}: ${message}`);
  if (answer.passages.length === 0) return;

  const { attributionId } = answer;
  const { linkResponse: link } = await muniment.ask(Link, { attributionId, responseId: `response-${randomUUID()}` });
  const { attribution: record } = await muniment.ask(Record, { id: link.attributionId });
  console.log(`${link.responseId} used ${record.id}, which is ${record.state.toLowerCase()}`);

  console.log('following');
  for await (const { contextChanged } of muniment.follow(Follow, { attributionId })) {
    for (const { wholeId, movement, at } of contextChanged.moved) console.log(`${movement} ${wholeId} at ${at ?? '?'}`);
    if (contextChanged.moved.length > 0) return;
  }
}

const [question, spaceKey = null] = process.argv.slice(2);
if (question) {
  await main(question, spaceKey).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
    console.error([error.refusal?.code, error.message].filter(Boolean).join(': '));
    process.exitCode = 1;
  });
} else {
  console.error('usage: node dist/main.js QUESTION [SPACE]');
  process.exitCode = 2;
}
