import { useState } from 'react';
import type { Passage } from '../api/types';
import { ago, brief, full, since, until } from './instants';
import { factOf } from './request';
import { ScoreBar } from './ScoreBar';

const RELATIONS = { CALLS: 'is called by', CALLED_BY: 'calls', TESTED_BY: 'tests' } as const;
const LONG = 420;

interface PassageCardProps {
  passage: Passage;
  most: number;
  /** How it stands to today's answer, where that differs. */
  mark: string | null;
  relatedTo: number | null;
  onHistory: (fact: string) => void;
  onImpact: (fact: string) => void;
}

/** One passage or memory: its place, its text, its score, both of its periods, how fresh it is. */
export function PassageCard({ passage, most, mark, relatedTo, onHistory, onImpact }: PassageCardProps) {
  const [open, setOpen] = useState(false);
  const { citation, related } = passage;
  const fact = factOf(passage);
  const title = passage.memoryId ? 'Memory' : citation.title;
  const isLong = passage.text.length > LONG;
  const name = `[${citation.index}] ${title}`;
  return (
    <article className="card" aria-label={name}>
      <header className="card-head">
        <span className="card-index" aria-hidden="true">
          {citation.index}
        </span>
        <div className="card-title">
          <h3>{title}</h3>
          <p className="card-place">
            {passage.memoryId ? passage.spaceKey : citation.externalId}
            {citation.headingPath && ` › ${citation.headingPath.replaceAll(' > ', ' › ')}`}
            {placeIn(passage)}
          </p>
        </div>
        <span className="card-score num" title="Score">
          {related ? 'related' : passage.score.toFixed(3)}
        </span>
      </header>
      {mark !== null && <p className="card-mark">{mark}</p>}
      {related && relatedTo !== null && (
        <p className="card-related fine">
          {RELATIONS[related.relation]} passage {relatedTo}
        </p>
      )}
      <div className={`card-text${passage.memoryId || citation.sourceType !== 'codebase' ? '' : ' card-code'}${open || !isLong ? '' : ' card-cut'}`}>
        {passage.text}
      </div>
      {isLong && (
        <button type="button" className="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Less' : 'All of it'}
        </button>
      )}
      {!related && <ScoreBar passage={passage} most={most} />}
      {passage.justification !== null && <p className="fine">{passage.justification}</p>}
      <dl className="facts">
        <div>
          <dt>True</dt>
          <dd title={passage.validFrom ? full(passage.validFrom) : undefined}>
            {since(passage.validFrom)} → {until(passage.validTo)}
          </dd>
        </div>
        <div>
          <dt>Known</dt>
          <dd title={full(passage.systemFrom)}>{brief(passage.systemFrom)} →</dd>
        </div>
        <div>
          <dt>Fresh</dt>
          <dd>{passage.freshness.ageHours === null ? brief(passage.freshness.ingestedAt) : `synced ${ago(passage.freshness.ageHours)} before`}</dd>
        </div>
        <div>
          <dt>Source</dt>
          <dd>
            {passage.provider}, {passage.epistemicStatus}
            {passage.confidence !== null && `, ${Math.round(passage.confidence * 100)} %`}
          </dd>
        </div>
        <div>
          <dt>Tokens</dt>
          <dd className="num">{passage.tokens}</dd>
        </div>
      </dl>
      {fact !== null && (
        <footer className="card-foot">
          <button type="button" className="quiet" aria-label={`History of ${name}`} onClick={() => onHistory(fact)}>
            History
          </button>
          <button type="button" className="quiet" aria-label={`Impact of ${name}`} onClick={() => onImpact(fact)}>
            Impact
          </button>
          {citation.url && (
            <a href={citation.url} rel="noreferrer">
              Original
            </a>
          )}
        </footer>
      )}
    </article>
  );
}

function placeIn({ citation }: Passage): string {
  const places = [
    citation.page !== null && `page ${citation.page}`,
    citation.sheet,
    citation.rowStart !== null && `rows ${citation.rowStart}–${citation.rowEnd ?? citation.rowStart}`,
  ].filter(Boolean);
  return places.length === 0 ? '' : ` · ${places.join(', ')}`;
}
