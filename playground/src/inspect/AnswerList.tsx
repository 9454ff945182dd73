import type { Answer, Comparison, Passage } from '../api/types';
import { markOf } from './Difference';
import { PassageCard } from './PassageCard';

interface AnswerListProps {
  answer: Answer;
  comparison: Comparison | null;
  onHistory: (fact: string) => void;
  onImpact: (fact: string) => void;
}

/** What the model should read: passages, then memories, best first. */
export function AnswerList({ answer, comparison, onHistory, onImpact }: AnswerListProps) {
  const all = [...answer.passages, ...answer.memories, ...answer.groupMemories];
  const most = Math.max(1, ...all.map((item) => item.score));
  const places = new Map(answer.passages.map((item) => [item.chunkId, item.citation.index]));
  const cards = (items: readonly Passage[]) =>
    items.map((passage) => (
      <PassageCard
        key={passage.citation.index}
        passage={passage}
        most={most}
        mark={markOf(passage, comparison)}
        relatedTo={passage.related ? (places.get(passage.related.to) ?? null) : null}
        onHistory={onHistory}
        onImpact={onImpact}
      />
    ));
  if (all.length === 0) {
    return (
      <div className="nothing">
        <h2>Nothing to read</h2>
        <p>No passage or memory answers this, at this moment, within what you may read. You can:</p>
        <ul>
          <li>ask from another space, or in other words;</li>
          <li>lower the least score, or take filters away under More;</li>
          <li>move the sliders: it may have been true, or known, at another moment;</li>
          <li>look under Left out, where every candidate has its reason.</li>
        </ul>
      </div>
    );
  }
  const related = answer.passages.filter((item) => item.related);
  return (
    <div className="cards">
      <Section title="Passages">{cards(answer.passages.filter((item) => !item.related))}</Section>
      {related.length > 0 && <Section title="Related code">{cards(related)}</Section>}
      {answer.memories.length > 0 && <Section title="Memories">{cards(answer.memories)}</Section>}
      {answer.groupMemories.length > 0 && <Section title="Memories of groups">{cards(answer.groupMemories)}</Section>}
    </div>
  );
}

function Section({ title, children }: { title: string; children: React.ReactNode[] }) {
  if (children.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2 className="cards-title">
        {title} <span className="fine num">{children.length}</span>
      </h2>
      {children}
    </section>
  );
}
