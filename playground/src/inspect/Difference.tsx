import type { Comparison, Passage } from '../api/types';
import { diffLines } from './lines';
import { count } from './words';

/** How an earlier answer differs from today's. */
export function Difference({ comparison, onNow }: { comparison: Comparison; onNow: () => void }) {
  const { added, removed, changed } = comparison;
  const same = added.length + removed.length + changed.length === 0;
  return (
    <section className="difference" aria-label="Difference to now">
      <p>
        <strong>Not today’s answer.</strong>{' '}
        {same
          ? 'Today’s is the same.'
          : `Against now: ${count(removed.length, 'text')} no longer there, ${changed.length} with other words, ${added.length} new.`}{' '}
        <button type="button" className="quiet" onClick={onNow}>
          Back to now
        </button>
      </p>
      {!same && (
        <details>
          <summary>What is different</summary>
          {changed.map(({ left, right }) => (
            <div key={left.contentSha256 + right.contentSha256} className="changed">
              <h3>{nameOf(right)}</h3>
              <pre>
                {diffLines(left.text, right.text).map((line, index) => (
                  <span key={index} className={line.sign === '+' ? 'line-in' : line.sign === '-' ? 'line-out' : 'line'}>
                    {line.sign} {line.text}
                    {'\n'}
                  </span>
                ))}
              </pre>
            </div>
          ))}
          <Texts title="Only then" passages={removed} />
          <Texts title="Only now" passages={added} />
        </details>
      )}
    </section>
  );
}

function Texts({ title, passages }: { title: string; passages: Passage[] }) {
  if (passages.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul className="plain">
        {passages.map((passage) => (
          <li key={passage.contentSha256}>
            <strong>{nameOf(passage)}</strong> <span className="fine">{passage.text.slice(0, 140)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function nameOf({ citation, memoryId }: Passage): string {
  return memoryId ? 'Memory' : [citation.externalId, citation.headingPath].filter(Boolean).join(' › ');
}

/** What to write on a card of an earlier answer. */
export function markOf(passage: Passage, comparison: Comparison | null): string | null {
  if (!comparison) return null;
  const same = (other: Passage) => other.contentSha256 === passage.contentSha256 && other.citation.externalId === passage.citation.externalId;
  if (comparison.changed.some((pair) => same(pair.left))) return 'Says something else today';
  return comparison.removed.some(same) ? 'Not in today’s answer' : null;
}
