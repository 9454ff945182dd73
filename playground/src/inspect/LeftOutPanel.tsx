import { useState } from 'react';
import { ask } from '../api/client';
import { EXPLAIN, namesOf, TRACE } from '../api/operations';
import type { Answer, Candidate, Explanation } from '../api/types';
import { Trouble } from './Trouble';
import { useLoad, valueOf } from './useLoad';
import { EXCLUSIONS, plain, STAGES } from './words';

const NAMED = 10;

/** Every candidate that is not in the answer, with the stage and the reason; and an explanation of any item. */
export function LeftOutPanel({ token, answer, onHistory }: { token: string; answer: Answer; onHistory: (fact: string) => void }) {
  const [shown, setShown] = useState(NAMED);
  const [loaded, again] = useLoad(answer.traceId, async (signal) => {
    const { trace } = await ask(token, TRACE, { id: answer.traceId, after: null }, signal);
    const all = trace.candidates.edges.map((edge) => edge.node).filter((item) => item.stage !== 'delivered');
    all.sort((left, right) => (left.rank ?? Infinity) - (right.rank ?? Infinity));
    return { all, more: trace.candidates.pageInfo.hasNextPage };
  });
  const candidates = valueOf(loaded)?.all ?? [];
  const wanted = [...new Set(candidates.slice(0, shown).flatMap((item) => item.documentId ?? []))];
  const [names] = useLoad(wanted.length > 0 ? wanted.join(' ') : null, (signal) => readNames(token, wanted, signal));
  const named = valueOf(names) ?? new Map<string, string>();

  return (
    <section className="panel wide" aria-label="Left out">
      <Explain token={token} requestId={answer.requestId} />
      <h2>Candidates that are not in the answer</h2>
      {answer.traceId === null && <p>No trace is kept here (MUNIMENT_TRACES), so only the counts beside are known.</p>}
      {loaded.state === 'failed' && <Trouble error={loaded.error} onRetry={again} />}
      {loaded.state === 'loading' && candidates.length === 0 && <p className="waiting">Reading the trace…</p>}
      {loaded.state === 'done' && candidates.length === 0 && <p>Every candidate is in the answer.</p>}
      {candidates.length > 0 && (
        <>
          <div className="table-frame" tabIndex={0} role="region" aria-label="Candidates">
            <table>
              <thead>
                <tr>
                  <th scope="col">Rank</th>
                  <th scope="col">What</th>
                  <th scope="col">Score</th>
                  <th scope="col">Stage</th>
                  <th scope="col">Why</th>
                </tr>
              </thead>
              <tbody>
                {candidates.slice(0, shown).map((item) => (
                  <Row key={item.itemId} item={item} name={named.get(item.documentId ?? '') ?? null} onHistory={onHistory} />
                ))}
              </tbody>
            </table>
          </div>
          {shown < candidates.length && (
            <button type="button" className="more-button" onClick={() => setShown(shown + 20)}>
              Show more of {candidates.length}
              {valueOf(loaded)?.more && '+'}
            </button>
          )}
        </>
      )}
    </section>
  );
}

function Row({ item, name, onHistory }: { item: Candidate; name: string | null; onHistory: (fact: string) => void }) {
  const fact = item.documentId ?? item.memoryId;
  const said = name ?? (item.memoryId ? 'Memory' : `…${item.itemId.slice(-12)}`);
  return (
    <tr>
      <td className="num">{item.rank ?? '–'}</td>
      <th scope="row">
        {fact === null ? (
          said
        ) : (
          <button type="button" className="quiet" title={`Chunk ${item.itemId}`} onClick={() => onHistory(fact)}>
            {said}
          </button>
        )}
      </th>
      <td className="num">{item.score.toFixed(3)}</td>
      <td>{plain(STAGES, item.stage)}</td>
      <td>{item.type === null ? '' : plain(EXCLUSIONS, item.type)}</td>
    </tr>
  );
}

function Explain({ token, requestId }: { token: string; requestId: string }) {
  const [typed, setTyped] = useState('');
  const [item, setItem] = useState<string | null>(null);
  const [loaded, again] = useLoad(item && `${requestId} ${item}`, async (signal) => (await ask(token, EXPLAIN, { requestId, itemId: item }, signal)).explainExclusion);
  const found = valueOf(loaded);
  return (
    <form
      className="explain"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim()) setItem(typed.trim());
      }}
    >
      <label className="field">
        <span>Why is this not in the answer?</span>
        <input type="text" value={typed} placeholder="id of a document, chunk or memory" onChange={(event) => setTyped(event.target.value)} />
      </label>
      <button type="submit">Explain</button>
      {loaded.state === 'failed' && <Trouble error={loaded.error} onRetry={again} />}
      {found && (
        <p className="explained" role="status">
          <strong>{OUTCOMES[found.outcome]}</strong> {found.reason}
        </p>
      )}
    </form>
  );
}

const OUTCOMES: Readonly<Record<Explanation['outcome'], string>> = {
  DELIVERED: 'It is in the answer.',
  EXCLUDED: 'It was a candidate and was left out.',
  NEVER_A_CANDIDATE: 'The search did not name it.',
};

async function readNames(token: string, ids: readonly string[], signal: AbortSignal): Promise<Map<string, string>> {
  const named = new Map<string, string>();
  for (let start = 0; start < ids.length; start += NAMED) {
    const part = ids.slice(start, start + NAMED);
    const answers = await ask(token, namesOf(part.length), Object.fromEntries(part.map((id, index) => [`i${index}`, id])), signal);
    part.forEach((id, index) => named.set(id, answers[`n${index}`]?.externalId ?? 'no longer held'));
  }
  return named;
}
