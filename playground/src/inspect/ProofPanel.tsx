import { useCallback, useEffect, useState } from 'react';
import { ask } from '../api/client';
import { STANDING } from '../api/operations';
import type { Answer, StandingRecord } from '../api/types';
import { Chain } from './Chain';
import { prove, short, type Check, type Proof } from './proof/check';
import { Trouble } from './Trouble';
import { asApiError, useLoad, valueOf } from './useLoad';

interface ProofPanelProps {
  token: string;
  answer: Answer;
  organisation: string;
}

// A checkpoint is signed within a minute or so; until then this looks again by itself.
const [PAUSE_MS, MOST_ROUNDS] = [3000, 40];
const SIGNS = { good: '✓', bad: '✗', open: '…' } as const;
const SAID = { good: 'holds', bad: 'fails', open: 'open' } as const;

/** The record of the answer in its chain, and its proof, which the browser checks by itself. */
export function ProofPanel({ token, answer, organisation }: ProofPanelProps) {
  const id = answer.attributionId;
  const [standing] = useLoad(id, (signal) => chained(token, id, signal));
  const record = valueOf(standing);
  const isChained = record?.state === 'CHAINED';
  const [proof, again] = useLoad(isChained ? id : null, () => prove(token, answer, organisation));
  const shown = valueOf(proof);
  const [rounds, setRounds] = useState(0);
  const isOpen = proof.state === 'done' && proof.value.awaitsCheckpoint && rounds < MOST_ROUNDS;
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setTimeout(() => {
      setRounds((value) => value + 1);
      again();
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [isOpen, again]);

  return (
    <section className="panel wide" aria-label="Proof">
      {standing.state === 'failed' && <Trouble error={standing.error} />}
      <Chain token={token} sequence={record?.sequence == null ? null : Number(record.sequence)} covered={shown?.treeSize ?? null} />
      <div className="row">
        <h2>Checked by this browser</h2>
        <button type="button" className="primary" disabled={!isChained || proof.state === 'loading'} onClick={again}>
          {proof.state === 'loading' ? 'Checking…' : 'Check again'}
        </button>
      </div>
      {record?.state === 'QUEUED' && <p className="waiting">The record waits for its place in the chain…</p>}
      {proof.state === 'failed' && <Trouble error={asApiError(proof.error)} onRetry={again} />}
      {shown && (
        <>
          <Verdict checks={shown.checks} />
          <ul className="checks">
            {shown.checks.map((check) => (
              <li key={check.title} className={`check check-${check.finding}`}>
                <span className="check-sign" aria-hidden="true">
                  {SIGNS[check.finding]}
                </span>
                <div>
                  <strong>{check.title}</strong> <span className="hidden">({SAID[check.finding]})</span>
                  <p>{check.detail}</p>
                </div>
              </li>
            ))}
          </ul>
          <Ladder proof={shown} />
        </>
      )}
    </section>
  );
}

function Verdict({ checks }: { checks: readonly Check[] }) {
  const bad = checks.some((check) => check.finding === 'bad');
  const open = checks.some((check) => check.finding === 'open');
  const finding = bad ? 'bad' : open ? 'open' : 'good';
  const sentence = {
    good: 'Proven. This answer is in the signed evidence, and nobody had to be believed.',
    bad: 'Not proven. The evidence does not fit this answer.',
    open: 'Not proven yet. What could be checked holds.',
  }[finding];
  return (
    <p className={`verdict verdict-${finding}`} role="status">
      {sentence}
    </p>
  );
}

/** Waits for the record's place in the chain, which it has within a second. */
async function chained(token: string, id: string, signal: AbortSignal): Promise<StandingRecord> {
  for (let round = 0; ; round++) {
    const { attribution } = await ask(token, STANDING, { id }, signal);
    if (attribution.state === 'CHAINED' || round === 20) return attribution;
    await new Promise((resolve) => setTimeout(resolve, 250));
    signal.throwIfAborted();
  }
}

const [COLUMN, ROW] = [150, 46];

/** The audit path from the leaf, at the bottom, up to the root: what was given, and what was computed from it. */
function Ladder({ proof }: { proof: Proof }) {
  const { leaf, steps, root } = proof;
  const [label, setLabel] = useState('');
  useEffect(() => setLabel(''), [proof]);
  const describe = useCallback((text: string) => () => setLabel(text), []);
  if (!leaf || steps.length === 0) return null;
  const height = (steps.length + 1) * ROW + 16;
  const y = (level: number) => height - 24 - level * ROW;
  const x = (side: 'left' | 'middle' | 'right') => 20 + COLUMN / 2 + { left: 0, middle: 1, right: 2 }[side] * (COLUMN + 20);
  const ends = root !== null && steps.at(-1)?.parent.every((byte, index) => byte === root[index]);
  return (
    <figure className="ladder">
      <figcaption>
        <strong>The path to the root.</strong> Outlined hashes were given as the proof, filled ones were computed here.{' '}
        <span className="fine">{label}</span>
      </figcaption>
      <svg viewBox={`0 0 ${3 * COLUMN + 80} ${height}`} role="img" aria-label={`Inclusion proof of ${steps.length} steps, from the leaf to the root`}>
        {steps.map((step, level) => (
          <g key={level}>
            <path className="ladder-line" d={`M${x('middle')} ${y(level) - 13} V${y(level + 1) + 13}`} />
            <path className="ladder-line" d={`M${x(step.side)} ${y(level) - 13} V${y(level) - ROW / 2} H${x('middle')}`} />
            <Hash x={x(step.side)} y={y(level)} text={short(step.sibling)} kind="given" onPoint={describe(`Given, level ${level}`)} />
          </g>
        ))}
        <Hash x={x('middle')} y={y(0)} text={short(leaf)} kind="leaf" onPoint={describe('The record’s own leaf')} />
        {steps.map((step, level) => (
          <Hash
            key={level}
            x={x('middle')}
            y={y(level + 1)}
            text={short(step.parent)}
            kind={level < steps.length - 1 ? 'made' : ends ? 'root' : 'wrong'}
            onPoint={describe(level < steps.length - 1 ? `Computed, level ${level + 1}` : 'The root')}
          />
        ))}
      </svg>
    </figure>
  );
}

interface HashProps {
  x: number;
  y: number;
  text: string;
  kind: 'given' | 'leaf' | 'made' | 'root' | 'wrong';
  onPoint: () => void;
}

function Hash({ x, y, text, kind, onPoint }: HashProps) {
  return (
    <g className={`hash hash-${kind}`} onPointerEnter={onPoint}>
      <rect x={x - COLUMN / 2} y={y - 13} width={COLUMN} height="26" rx="4" />
      <text x={x} y={y + 4} textAnchor="middle">
        {{ given: '', leaf: 'leaf ', made: '', root: 'root ', wrong: 'not the root ' }[kind]}
        {text}
      </text>
    </g>
  );
}
