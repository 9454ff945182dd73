import type { Answer, Exclusion } from '../api/types';
import { everything } from './request';
import { full } from './instants';
import { count, EXCLUSIONS, LIMITATIONS, OUTSIDE, plain, STAGE_ORDER, STAGES } from './words';

/** The account of an answer: what it cost, what fell away on the way, and what to know about it. */
export function Account({ answer, budget }: { answer: Answer; budget: number | null }) {
  return (
    <aside className="account" aria-label="Account of the answer">
      <Budget answer={answer} budget={budget} />
      <Flow answer={answer} />
      <Limitations answer={answer} />
      <Terms answer={answer} />
    </aside>
  );
}

function Budget({ answer, budget }: { answer: Answer; budget: number | null }) {
  const items = everything(answer);
  const dropped = answer.exclusions.filter((item) => item.type === 'TOKEN_BUDGET').reduce((sum, item) => sum + (item.count ?? 0), 0);
  const whole = Math.max(budget ?? answer.tokensTotal, answer.tokensTotal, 1);
  const needed = answer.limitations.find((item) => item.code === 'BUDGET_TOO_SMALL')?.count ?? null;
  return (
    <section className="panel">
      <h2>Token budget</h2>
      <p className="figure">
        <span className="num">{answer.tokensTotal.toLocaleString()}</span>
        <span className="fine"> of {budget === null ? 'no limit' : budget.toLocaleString()}</span>
      </p>
      <div className="budget" role="img" aria-label={`${answer.tokensTotal} of ${budget ?? 'unlimited'} tokens; ${count(dropped, 'item')} fell off the end`}>
        {items.map((item) => (
          <span
            key={item.citation.index}
            className={item.memoryId ? 'budget-item budget-memory' : item.related ? 'budget-item budget-related' : 'budget-item'}
            style={{ width: `${(item.tokens / whole) * 100}%` }}
            title={`[${item.citation.index}] ${item.tokens} tokens`}
          />
        ))}
        {dropped > 0 && <span className="budget-off" />}
      </div>
      <p className="fine">
        {dropped === 0 ? 'Nothing fell off the end.' : `${count(dropped, 'item')} fell off the end.`}
        {needed !== null && ` A budget of ${needed.toLocaleString()} would keep one more.`}
      </p>
    </section>
  );
}

interface Stage {
  stage: string;
  items: { type: string; count: number; reason: string }[];
  left: number;
}

/** What each stage cut, in order, and how many were left after it. */
export function stagesOf(exclusions: readonly Exclusion[], candidates: number): Stage[] {
  const order = [...STAGE_ORDER, ...exclusions.map((item) => item.stage).filter((stage) => !STAGE_ORDER.includes(stage) && !OUTSIDE.includes(stage))];
  let left = candidates;
  return [...new Set(order)].flatMap((stage) => {
    const byType = new Map<string, Stage['items'][number]>();
    for (const item of exclusions) {
      if (item.stage !== stage) continue;
      const before = byType.get(item.type)?.count ?? 0;
      byType.set(item.type, { type: item.type, reason: item.reason, count: before + (item.count ?? 0) });
    }
    if (byType.size === 0) return [];
    const items = [...byType.values()];
    left -= items.reduce((sum, item) => sum + item.count, 0);
    return [{ stage, items, left }];
  });
}

function Flow({ answer }: { answer: Answer }) {
  const { candidates } = answer.searchMeta;
  const stages = stagesOf(answer.exclusions, candidates);
  const delivered = everything(answer).length;
  const outside = answer.exclusions.filter((item) => OUTSIDE.includes(item.stage));
  const width = (number: number) => ({ width: `${candidates === 0 ? 0 : Math.max((number / candidates) * 100, number > 0 ? 0.6 : 0)}%` });
  return (
    <section className="panel">
      <h2>From candidates to answer</h2>
      <ol className="flow">
        <li>
          <div className="flow-line">
            <span>Candidates</span>
            <span className="num">{candidates}</span>
          </div>
          <div className="flow-bar">
            <span className="flow-left" style={width(candidates)} />
          </div>
        </li>
        {stages.map((stage) => (
          <li key={stage.stage}>
            {stage.items.map((item) => (
              <div key={item.type} className="flow-line flow-cut" title={item.reason}>
                <span>
                  {plain(EXCLUSIONS, item.type)}
                  {stage.stage === 'related' && ' (related code)'}
                </span>
                <span className="num">−{item.count}</span>
              </div>
            ))}
            <div className="flow-bar" title={`${plain(STAGES, stage.stage)}: ${stage.left} left`}>
              <span className="flow-left" style={width(stage.left)} />
              {stage.items.map((item) => (
                <span key={item.type} className="flow-gone" style={width(item.count)} />
              ))}
            </div>
          </li>
        ))}
        <li className="flow-sum">
          <div className="flow-line">
            <strong>Delivered</strong>
            <strong className="num">{delivered}</strong>
          </div>
        </li>
      </ol>
      {outside.length > 0 && (
        <>
          <h3>Never candidates</h3>
          <ul className="plain">
            {outside.map((item, index) => (
              <li key={index} className="flow-line" title={item.reason}>
                <span>
                  {plain(EXCLUSIONS, item.type)}
                  {item.provider && <span className="fine"> {item.provider}</span>}
                </span>
                <span className="num">{item.count ?? ''}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Limitations({ answer }: { answer: Answer }) {
  return (
    <section className="panel">
      <h2>Know before you rely on it</h2>
      <ul className="limits">
        {answer.limitations.map((item) => (
          <li key={item.code}>{item.code === 'BUDGET_TOO_SMALL' ? item.message : (LIMITATIONS[item.code] ?? item.message)}</li>
        ))}
      </ul>
    </section>
  );
}

function Terms({ answer }: { answer: Answer }) {
  const { contract, searchMeta } = answer;
  return (
    <section className="panel">
      <h2>Terms</h2>
      <dl className="terms">
        <dt>True at</dt>
        <dd>{full(contract.validAt)}</dd>
        <dt>Known at</dt>
        <dd>{full(contract.knownAt)}</dd>
        <dt>Asked from</dt>
        <dd>{contract.spaceKey ?? 'a space that may not be searched itself'}</dd>
        {contract.rewrittenQuery !== null && (
          <>
            <dt>Searched as</dt>
            <dd>{contract.rewrittenQuery}</dd>
          </>
        )}
        <dt>Vectors</dt>
        <dd>
          {searchMeta.vectorMode}
          {searchMeta.cacheHit && ', search remembered'}
        </dd>
        <dt>Took</dt>
        <dd className="num">{searchMeta.stageTimings.totalMs.toFixed(1)} ms</dd>
        <dt>Evidence</dt>
        <dd>
          <code>{answer.attributionId}</code>
        </dd>
      </dl>
    </section>
  );
}
