import { useState } from 'react';
import { ask } from '../api/client';
import { REPLAY } from '../api/operations';
import type { Answer, ReplayedItem } from '../api/types';
import { everything } from './request';
import { Trouble } from './Trouble';
import { useLoad, valueOf } from './useLoad';
import { count, DRIFTS, plain } from './words';

/** The retrieval made again: at its own clocks it must come out the same, bit for bit; now it may not. */
export function ReplayPanel({ token, answer }: { token: string; answer: Answer }) {
  const [against, setAgainst] = useState<'RECORDED' | 'NOW'>('RECORDED');
  const id = answer.attributionId;
  const [loaded, again] = useLoad(`${id} ${against}`, async (signal) => {
    const query = answer.traceId === null ? answer.query : null;
    return (await ask(token, REPLAY, { id, query, against }, signal)).replay;
  });
  const replay = valueOf(loaded);
  const names = new Map(everything(answer).map((item) => [item.chunkId ?? '', `[${item.citation.index}] ${item.citation.title}`]));
  const nameOf = (item: ReplayedItem) => names.get(item.itemId) ?? (item.memoryId ? 'Memory' : item.itemId.slice(-12));
  return (
    <section className="panel wide" aria-label="Replay">
      <div className="row">
        <div className="segments" role="group" aria-label="Replay against">
          {(['RECORDED', 'NOW'] as const).map((value) => (
            <button key={value} type="button" aria-pressed={against === value} onClick={() => setAgainst(value)}>
              {value === 'RECORDED' ? 'At its own clocks' : 'As of now'}
            </button>
          ))}
        </div>
        <button type="button" onClick={again} disabled={loaded.state === 'loading'}>
          {loaded.state === 'loading' ? 'Replaying…' : 'Replay again'}
        </button>
      </div>
      {loaded.state === 'failed' && <Trouble error={loaded.error} onRetry={again} />}
      {replay && (
        <>
          <p className={`verdict verdict-${replay.verdict === 'REPRODUCED' ? 'good' : 'open'}`} role="status">
            {replay.verdict === 'REPRODUCED'
              ? `Reproduced: the same items, texts and order${replay.traced ? `, and ${count(replay.compared, 'candidate')} with the same scores, bit for bit` : ''}.`
              : `Drifted: ${replay.reasons.map((reason) => plain(DRIFTS, reason).toLowerCase()).join(', ')}.`}
          </p>
          {replay.drifts.map((drift) => (
            <p key={drift.type}>
              <strong>{plain(DRIFTS, drift.type)}.</strong> {drift.message} <span className="fine">{count(drift.itemIds.length, 'item')}</span>
            </p>
          ))}
          <div className="table-frame" tabIndex={0} role="region" aria-label="Items of the replay">
            <table>
              <thead>
                <tr>
                  <th scope="col">Item</th>
                  <th scope="col">Place then</th>
                  <th scope="col">Place again</th>
                  <th scope="col">Score then</th>
                  <th scope="col">Score again</th>
                  <th scope="col">Text</th>
                </tr>
              </thead>
              <tbody>
                {replay.items.map((item) => (
                  <tr key={item.itemId} className={item.place === item.recordedPlace ? undefined : 'moved'}>
                    <th scope="row">{nameOf(item)}</th>
                    <td className="num">{item.recordedPlace ?? '–'}</td>
                    <td className="num">{item.place ?? '–'}</td>
                    <td className="num">{item.recordedScore?.toFixed(4) ?? '–'}</td>
                    <td className="num">{item.score?.toFixed(4) ?? '–'}</td>
                    <td>{item.sha256 === null ? 'gone' : item.recordedSha256 === null ? 'new' : item.sha256 === item.recordedSha256 ? 'same' : 'other'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}
