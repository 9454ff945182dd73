import type { Passage } from '../api/types';

interface Part {
  name: string;
  /** What it adds to the score; the level weight may take away. */
  worth: number;
  said: string;
}

/** The parts that a score is made of, by the formulas of the API (`PassageScores`). */
export function partsOf({ score, scores }: Pick<Passage, 'score' | 'scores'>): Part[] {
  const part = (name: string, share: number, value: number | null): Part[] =>
    value === null ? [] : [{ name, worth: share * value, said: `${share.toFixed(2)} × ${value.toFixed(3)}` }];
  if (scores.importance !== null) {
    return [
      ...part('similarity', 0.4, scores.similarity),
      ...part('recency', 0.2, scores.recency),
      ...part('importance', 0.25, scores.importance),
      ...part('frequency', 0.15, scores.frequency),
    ];
  }
  const parts = [...part('vector', 0.7, scores.vector), ...part('text', 0.3, scores.text)];
  if (parts.length === 0) return [];
  const sum = parts.reduce((total, item) => total + item.worth, 0);
  const weight = scores.levelWeight ?? 1;
  // What the formula does not explain: a phrase that was found, or one leg that stood alone.
  const rest = score / weight - sum;
  if (scores.rerank === null && rest > 0.0005) parts.push({ name: 'phrase', worth: rest, said: `+ ${rest.toFixed(3)}` });
  const gain = (sum + Math.max(rest, 0)) * (weight - 1);
  if (Math.abs(gain) > 0.0005) parts.push({ name: 'level', worth: gain, said: `× ${weight.toFixed(2)}` });
  return parts;
}

/** A score as a bar of its parts. `most`: the score that fills the whole width. */
export function ScoreBar({ passage, most }: { passage: Passage; most: number }) {
  const parts = partsOf(passage);
  if (parts.length === 0) return <p className="score-none fine">Not ranked: it came along with a passage above.</p>;
  const width = (worth: number) => `${Math.max((Math.abs(worth) / most) * 100, 0)}%`;
  return (
    <figure className="score">
      <div className="score-bar" role="img" aria-label={`Score ${passage.score.toFixed(3)}`}>
        {parts.map((part) => (
          <span key={part.name} className={`part part-${part.name}${part.worth < 0 ? ' part-loss' : ''}`} style={{ width: width(part.worth) }} />
        ))}
      </div>
      <figcaption>
        {parts.map((part) => (
          <span key={part.name} className="part-said">
            <i className={`part part-${part.name}`} aria-hidden="true" />
            {part.name} <span className="num">{part.said}</span>
          </span>
        ))}
        {passage.scores.rerank !== null && <span className="part-said">reranked {passage.scores.rerank.toFixed(3)}</span>}
      </figcaption>
    </figure>
  );
}
