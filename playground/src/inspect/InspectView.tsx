import { useCallback, useEffect, useMemo, useState } from 'react';
import { ask } from '../api/client';
import { HERE } from '../api/operations';
import { rememberAnswer } from '../session/lastAnswer';
import { formatAddress, type Address, type Go, type Tab } from '../session/address';
import { Account } from './Account';
import { AnswerList } from './AnswerList';
import { AskForm } from './AskForm';
import { Clocks } from './Clocks';
import { Difference } from './Difference';
import { Empty } from './Empty';
import { HistoryPanel } from './HistoryPanel';
import { ImpactPanel } from './ImpactPanel';
import { LeftOutPanel } from './LeftOutPanel';
import type { Moments } from './moments';
import { ProofPanel } from './ProofPanel';
import { ReplayPanel } from './ReplayPanel';
import { everything, factOf, keyOf, readMoments, request } from './request';
import { Trouble } from './Trouble';
import { useLoad, valueOf } from './useLoad';
import './inspect.css';

interface InspectViewProps {
  token: string | null;
  address: Address;
  go: Go;
  onUnauthenticated: () => void;
}

const TABS: readonly { tab: Tab; title: string }[] = [
  { tab: 'answer', title: 'Answer' },
  { tab: 'left-out', title: 'Left out' },
  { tab: 'history', title: 'History' },
  { tab: 'proof', title: 'Proof' },
  { tab: 'replay', title: 'Replay' },
  { tab: 'impact', title: 'Impact' },
];

const STILL: Moments = { valid: [], known: [] };

/** The retrieval inspector. What it shows follows from the address, so that a link shows it to somebody else. */
export function InspectView({ token, address, go, onUnauthenticated }: InspectViewProps) {
  const [hereLoaded, hereAgain] = useLoad(token && 'here', (signal) => ask(token ?? '', HERE, {}, signal));
  const here = valueOf(hereLoaded);
  const space = address.space || (here ? defaultSpace(here.spaces.edges.map((edge) => edge.node), here.me.activeSpace?.keyPath) : '');
  // The organisation's spaces are waited for only where the link names none.
  const key = token && address.q && (address.space || here) ? keyOf(address, space) : null;
  const [loaded, again] = useLoad(key, (signal) => request(token ?? '', address, space, signal));
  const shown = valueOf(loaded);
  const answer = shown?.answer ?? null;

  useEffect(() => {
    if (loaded.state === 'failed' && loaded.error.code === 'UNAUTHENTICATED') onUnauthenticated();
    if (loaded.state === 'done') rememberAnswer({ data: { retrieve: loaded.value.answer } });
  }, [loaded, onUnauthenticated]);

  // A link says the space, so that it means the same to somebody whose own default is another.
  useEffect(() => {
    if (address.q && !address.space && space) go({ space }, 'replace');
  }, [address.q, address.space, space, go]);

  const facts = useMemo(() => {
    const named = new Map<string, string>();
    const today = shown?.comparison ? [...shown.comparison.added, ...shown.comparison.changed.map((pair) => pair.right)] : [];
    for (const item of [...(answer ? everything(answer) : []), ...today]) {
      const id = factOf(item);
      if (id !== null && !named.has(id)) named.set(id, item.memoryId ? `Memory: ${item.text.slice(0, 48)}` : item.citation.externalId);
    }
    return [...named].map(([id, name]) => ({ id, name }));
  }, [answer, shown]);

  // The marks stay while the clocks are moved; only another question takes them away.
  const [moments, setMoments] = useState<Moments>(STILL);
  const [known, setKnown] = useState<{ q: string; ids: readonly string[] }>({ q: '', ids: [] });
  const q = `${address.q} ${space}`;
  useEffect(() => {
    if (loaded.state !== 'done') return;
    setKnown((before) => {
      const ids = [...new Set([...(before.q === q ? before.ids : []), ...facts.map((fact) => fact.id)])];
      return before.q === q && ids.length === before.ids.length ? before : { q, ids };
    });
  }, [facts, q, loaded.state]);
  const [histories] = useLoad(known.ids.length > 0 ? known.ids.join(' ') : null, (signal) => readMoments(token ?? '', known.ids, signal));
  useEffect(() => {
    if (histories.state === 'done') setMoments(histories.value);
  }, [histories]);

  const onHistory = useCallback((fact: string) => go({ tab: 'history', fact }), [go]);
  const onImpact = useCallback((fact: string) => go({ tab: 'impact', fact }), [go]);
  const busy = loaded.state === 'loading';

  return (
    <div className="inspect" aria-busy={busy}>
      <AskForm address={address} here={here} space={space} busy={busy} go={go} onAsk={again} />
      {hereLoaded.state === 'failed' && hereLoaded.error.code !== 'UNAUTHENTICATED' && <Trouble error={hereLoaded.error} onRetry={hereAgain} />}
      {!address.q && <Empty disabled={here === null} onAsk={(question) => go({ q: question, space })} />}
      {address.q && (
        <>
          <Clocks address={address} moments={moments} unread={histories.state === 'failed'} go={go} />
          <div className="tabs-row">
            <Tabs tab={address.tab} go={go} />
            {answer && <Share address={address} space={space} validAt={answer.contract.validAt} knownAt={answer.contract.knownAt} />}
          </div>
          {loaded.state === 'failed' && <Trouble error={loaded.error} onRetry={again} />}
          {token === null && <p className="waiting">A token is needed to ask. See above how to get one.</p>}
          <div className={`body${busy ? ' body-busy' : ''}`}>
            <div className="main" role="tabpanel" id="panel" aria-label={TABS.find((item) => item.tab === address.tab)?.title}>
              {!answer && loaded.state === 'loading' && <Skeleton />}
              {answer && shown?.comparison && address.tab === 'answer' && (
                <Difference comparison={shown.comparison} onNow={() => go({ asOf: '', knownAt: '' }, 'replace')} />
              )}
              {answer && address.tab === 'answer' && (
                <AnswerList answer={answer} comparison={shown?.comparison ?? null} onHistory={onHistory} onImpact={onImpact} />
              )}
              {answer && token !== null && address.tab === 'left-out' && (
                <LeftOutPanel key={answer.requestId} token={token} answer={answer} onHistory={onHistory} />
              )}
              {token !== null && address.tab === 'history' && <HistoryPanel token={token} address={address} facts={facts} go={go} />}
              {answer && here && token !== null && address.tab === 'proof' && (
                <ProofPanel key={answer.attributionId} token={token} answer={answer} organisation={here.me.organisationId} />
              )}
              {answer && token !== null && address.tab === 'replay' && <ReplayPanel key={answer.attributionId} token={token} answer={answer} />}
              {token !== null && address.tab === 'impact' && <ImpactPanel token={token} address={address} facts={facts} go={go} />}
            </div>
            {answer && shown && <Account answer={answer} budget={shown.budget} />}
          </div>
        </>
      )}
    </div>
  );
}

function defaultSpace(spaces: readonly { keyPath: string; level: string }[], active: string | undefined): string {
  return active ?? spaces.find((space) => space.level === 'PROJECT')?.keyPath ?? spaces[0]?.keyPath ?? '/';
}

function Tabs({ tab, go }: { tab: Tab; go: Go }) {
  // On a narrow screen the chosen one may stand outside.
  useEffect(() => {
    // Newer browsers answer with a promise, which is no clean-up.
    void document.getElementById(`tab-${tab}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [tab]);
  const move = (step: number) => {
    const index = TABS.findIndex((item) => item.tab === tab);
    const next = TABS[(index + step + TABS.length) % TABS.length];
    if (!next) return;
    go({ tab: next.tab });
    document.getElementById(`tab-${next.tab}`)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label="Answer">
      {TABS.map((item) => (
        <button
          key={item.tab}
          id={`tab-${item.tab}`}
          type="button"
          role="tab"
          aria-selected={item.tab === tab}
          aria-controls="panel"
          tabIndex={item.tab === tab ? 0 : -1}
          onClick={() => go({ tab: item.tab })}
          onKeyDown={(event) => {
            if (event.key === 'ArrowRight') move(1);
            if (event.key === 'ArrowLeft') move(-1);
          }}
        >
          {item.title}
        </button>
      ))}
    </div>
  );
}

/** Copies a link to this very answer: both clocks pinned, and no token in it. */
function Share({ address, space, validAt, knownAt }: { address: Address; space: string; validAt: string; knownAt: string }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    const link = location.origin + location.pathname + formatAddress({ ...address, space, asOf: validAt, knownAt });
    try {
      await navigator.clipboard.writeText(link);
      setSaid('Copied');
    } catch {
      window.prompt('The link to this answer', link);
    }
    setTimeout(() => setSaid(''), 2000);
  };
  return (
    <>
      <button type="button" className="share" title="A link to this answer at its own moment, without the token" onClick={() => void copy()}>
        {said || 'Copy link'}
      </button>
      <span className="hidden" role="status">
        {said}
      </span>
    </>
  );
}

function Skeleton() {
  return (
    <div className="skeleton" role="status">
      <span className="hidden">Asking…</span>
      {[0, 1, 2].map((number) => (
        <div key={number} className="card card-ghost" aria-hidden="true" />
      ))}
    </div>
  );
}
