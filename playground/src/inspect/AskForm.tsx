import { useEffect, useId, useState, type FormEvent } from 'react';
import type { Here, Limits } from '../api/types';
import type { Address, Go } from '../session/address';

type Draft = Pick<
  Address,
  'q' | 'space' | 'subject' | 'topK' | 'budget' | 'perDocument' | 'perLevel' | 'minScore' | 'mmr' | 'related' | 'memories'
>;

interface AskFormProps {
  address: Address;
  here: Here | null;
  space: string;
  busy: boolean;
  go: Go;
  onAsk: () => void;
}

function draftOf(address: Address, space: string): Draft {
  const { q, subject, topK, budget, perDocument, perLevel, minScore, mmr, related, memories } = address;
  return { q, space, subject, topK, budget, perDocument, perLevel, minScore, mmr, related, memories };
}

/** The question and what is asked with it. Asking writes it into the address; the address is what is asked. */
export function AskForm({ address, here, space, busy, go, onAsk }: AskFormProps) {
  const [draft, setDraft] = useState(() => draftOf(address, space));
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const limits = here?.capabilities;

  // The space comes later than the first keystrokes, and must not take them away.
  useEffect(() => setDraft((before) => draftOf(address, before.space)), [address]);
  useEffect(() => setDraft((before) => ({ ...before, space })), [space]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const q = draft.q.trim();
    if (!q) return;
    // A question of its own is about now; the moments of the one before mean nothing to it.
    const clocks = q === address.q ? {} : { asOf: '', knownAt: '' };
    go({ ...draft, q, ...clocks, tab: 'answer', fact: '' });
    onAsk();
  };

  const spaces = here?.spaces.edges.map((edge) => edge.node) ?? [];
  const known = spaces.some((item) => item.keyPath === draft.space);
  return (
    <form className="ask" role="search" aria-label="Ask" onSubmit={submit}>
      <div className="ask-line">
        <label className="ask-question">
          <span className="hidden">Question</span>
          <input
            type="text"
            value={draft.q}
            placeholder="What should the model read about…"
            autoComplete="off"
            enterKeyHint="search"
            onChange={(event) => change({ q: event.target.value })}
          />
        </label>
        <button type="submit" className="primary" disabled={busy || !draft.q.trim()}>
          {busy ? 'Asking…' : 'Ask'}
        </button>
      </div>
      <div className="ask-options">
        <label className="field">
          <span>Space</span>
          <select value={draft.space} onChange={(event) => change({ space: event.target.value })}>
            {!known && <option value={draft.space}>{draft.space}</option>}
            {spaces.map((item) => (
              <option key={item.keyPath} value={item.keyPath}>
                {item.keyPath === '/' ? `/ (${item.name})` : item.keyPath}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>Subject</span>
          <input
            type="text"
            value={draft.subject}
            placeholder="nobody"
            autoComplete="off"
            onChange={(event) => change({ subject: event.target.value })}
          />
        </label>
        <NumberField title="Token budget" value={draft.budget} limits={limits?.tokenBudget} onChange={(budget) => change({ budget })} />
        <NumberField title="Passages" value={draft.topK} limits={limits?.topK} onChange={(topK) => change({ topK })} />
        <details className="more">
          <summary>More</summary>
          <div className="more-fields">
            <NumberField
              title="Of one document"
              value={draft.perDocument}
              limits={limits?.maxPassagesPerDocument}
              onChange={(perDocument) => change({ perDocument })}
            />
            <NumberField title="Of one level" value={draft.perLevel} limits={limits?.maxPerLevel} onChange={(perLevel) => change({ perLevel })} />
            <NumberField title="Least score" value={draft.minScore} step={0.05} placeholder="none" onChange={(minScore) => change({ minScore })} />
            <NumberField title="Diversity λ" value={draft.mmr} step={0.05} most={1} placeholder="off" onChange={(mmr) => change({ mmr })} />
            <label className="tick">
              <input type="checkbox" checked={draft.related === 'yes'} onChange={(event) => change({ related: event.target.checked ? 'yes' : 'no' })} />
              Related code
            </label>
            <label className="tick">
              <input type="checkbox" checked={draft.memories === 'yes'} onChange={(event) => change({ memories: event.target.checked ? 'yes' : 'no' })} />
              Memories
            </label>
          </div>
        </details>
      </div>
    </form>
  );
}

interface NumberFieldProps {
  title: string;
  value: string;
  limits?: Limits | undefined;
  step?: number;
  most?: number;
  placeholder?: string;
  onChange: (value: string) => void;
}

function NumberField({ title, value, limits, step = 1, most, placeholder, onChange }: NumberFieldProps) {
  const id = useId();
  return (
    <label className="field field-number" htmlFor={id}>
      <span>{title}</span>
      <input
        id={id}
        type="number"
        min={step === 1 ? 1 : 0}
        max={most ?? limits?.greatest}
        step={step}
        value={value}
        placeholder={placeholder ?? (limits ? String(limits.default) : '')}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
