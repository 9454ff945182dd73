import { useMemo, useState } from 'react';
import { ask } from '../api/client';
import { DOCUMENT_AT, HISTORY, MEMORY_AT } from '../api/operations';
import type { FactVersion } from '../api/types';
import type { Address, Go } from '../session/address';
import { brief, full, since, toMs, until } from './instants';
import { momentsIn, Scale } from './moments';
import { Trouble } from './Trouble';
import { useLoad, valueOf } from './useLoad';
import { count } from './words';

interface HistoryPanelProps {
  token: string;
  address: Address;
  facts: readonly { id: string; name: string }[];
  go: Go;
}

/** Every belief about one document or memory, as rectangles on both clocks. */
export function HistoryPanel({ token, address, facts, go }: HistoryPanelProps) {
  const id = address.fact || (facts[0]?.id ?? '');
  const [loaded, again] = useLoad(id || null, async (signal) => (await ask(token, HISTORY, { id }, signal)).history);
  const history = valueOf(loaded);
  const versions = useMemo(() => history?.edges.map((edge) => edge.node) ?? [], [history]);
  const [picked, setPicked] = useState<string | null>(null);
  const chosen = versions.find((version) => version.id === picked) ?? null;

  return (
    <section className="panel wide" aria-label="History">
      <FactChooser id={id} facts={facts} onChoose={(fact) => go({ fact }, 'replace')} />
      {loaded.state === 'failed' && <Trouble error={loaded.error} onRetry={again} />}
      {!id && <p>Ask something first, then choose a document or memory; or paste an id above.</p>}
      {id && versions.length > 0 && (
        <>
          <p>
            {count(versions.length, 'belief')} about <strong>{nameOf(versions[versions.length - 1])}</strong>. Each rectangle is what was
            believed to hold from left to right, for as long as it was believed, from below upwards.
            {history?.pageInfo.hasNextPage && ' Only the first 100 are drawn.'}
          </p>
          <Plane versions={versions} asOf={address.asOf} knownAt={address.knownAt} picked={picked} onPick={setPicked} />
          {chosen && <Belief key={chosen.id} token={token} id={id} version={chosen} go={go} />}
          <Versions versions={versions} picked={picked} onPick={setPicked} />
        </>
      )}
      {loaded.state === 'loading' && !history && <p className="waiting">Reading the history…</p>}
    </section>
  );
}

export function FactChooser({ id, facts, onChoose }: { id: string; facts: readonly { id: string; name: string }[]; onChoose: (id: string) => void }) {
  const [typed, setTyped] = useState('');
  const known = facts.some((fact) => fact.id === id);
  return (
    <div className="chooser">
      <label className="field">
        <span>Of</span>
        <select value={id} onChange={(event) => onChoose(event.target.value)}>
          {!known && <option value={id}>{id || 'nothing yet'}</option>}
          {facts.map((fact) => (
            <option key={fact.id} value={fact.id}>
              {fact.name}
            </option>
          ))}
        </select>
      </label>
      <form
        className="field-go"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim()) onChoose(typed.trim());
        }}
      >
        <label className="field">
          <span>or by id</span>
          <input type="text" value={typed} placeholder="document or memory" onChange={(event) => setTyped(event.target.value)} />
        </label>
        <button type="submit">Show</button>
      </form>
    </div>
  );
}

const [H, LEFT, BOTTOM, TOP, RIGHT] = [340, 12, 34, 10, 12];
// Letters keep their size on a narrow screen, so the plane itself is drawn narrower there.
const widthHere = () => (matchMedia('(max-width: 700px)').matches ? 380 : 900);

interface PlaneProps {
  versions: readonly FactVersion[];
  asOf: string;
  knownAt: string;
  picked: string | null;
  onPick: (id: string) => void;
}

function Plane({ versions, asOf, knownAt, picked, onPick }: PlaneProps) {
  const W = widthHere();
  const now = Date.now();
  const { valid, known } = momentsIn(versions);
  const axis = (instants: string[]) => {
    const places = [...instants.map(toMs), now];
    const [first, last] = [Math.min(...places), Math.max(...places)];
    const pad = Math.max((last - first) * 0.1, 60_000);
    return { scale: new Scale(places, first - pad, last + pad, 0.8), instants };
  };
  const [x, y] = [axis(valid), axis(known)];
  const px = (ms: number) => LEFT + x.scale.at(ms) * (W - LEFT - RIGHT);
  const py = (ms: number) => H - BOTTOM - y.scale.at(ms) * (H - BOTTOM - TOP);
  const bound = (instant: string | null, open: number) => (instant === null ? open : toMs(instant));
  const [cx, cy] = [px(asOf ? toMs(asOf) : now), py(knownAt ? toMs(knownAt) : now)];
  return (
    <div className="plane-frame">
      <svg className="plane" viewBox={`0 0 ${W} ${H}`} role="group" aria-label="Beliefs on both clocks; the table below says the same">
        {versions.map((version, index) => {
          const [x0, x1] = [px(bound(version.validFrom, -Infinity)), px(bound(version.validTo, Infinity))];
          const [y0, y1] = [py(toMs(version.systemFrom)), py(bound(version.systemTo, Infinity))];
          return (
            <g
              key={version.id}
              role="button"
              tabIndex={0}
              aria-label={`Belief ${index + 1}: true ${since(version.validFrom)} to ${until(version.validTo)}, believed ${since(version.systemFrom)} to ${until(version.systemTo)}`}
              aria-pressed={picked === version.id}
              className={`belief${version.systemTo === null ? ' belief-held' : ''}${picked === version.id ? ' belief-picked' : ''}`}
              onClick={() => onPick(version.id)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' && event.key !== ' ') return;
                event.preventDefault();
                onPick(version.id);
              }}
            >
              <rect x={x0} y={y1} width={Math.max(x1 - x0, 2)} height={Math.max(y0 - y1, 2)} rx="2" />
              {x1 - x0 > 18 && y0 - y1 > 16 && (
                <text x={x0 + 7} y={y1 + 16}>
                  {index + 1}
                </text>
              )}
            </g>
          );
        })}
        <g className="cross" aria-hidden="true">
          <line x1={cx} x2={cx} y1={TOP} y2={H - BOTTOM} />
          <line x1={LEFT} x2={W - RIGHT} y1={cy} y2={cy} />
          <circle cx={cx} cy={cy} r="4" />
          <text x={cx + 8} y={cy - 8}>
            {asOf || knownAt ? 'the answer' : 'now'}
          </text>
        </g>
        <g className="axis" aria-hidden="true">
          <line x1={LEFT} x2={W - RIGHT} y1={H - BOTTOM} y2={H - BOTTOM} />
          {spaced(x.instants, (instant) => px(toMs(instant)), 96).map((instant) => (
            <text key={instant} x={px(toMs(instant))} y={H - BOTTOM + 15} textAnchor="middle">
              {brief(instant)}
            </text>
          ))}
          <text x={W - RIGHT} y={H - 4} textAnchor="end">
            true →
          </text>
          {spaced(y.instants, (instant) => py(toMs(instant)), 18).map((instant) => (
            <text key={instant} x={LEFT + 4} y={py(toMs(instant)) - 4} className="axis-known">
              {brief(instant)}
            </text>
          ))}
          <text x={LEFT} y={H - 4}>
            ↑ known
          </text>
        </g>
      </svg>
    </div>
  );
}

/** As many labels as have room. */
function spaced(instants: readonly string[], at: (instant: string) => number, room: number): string[] {
  const kept: string[] = [];
  for (const instant of instants) {
    const last = kept.at(-1);
    if (last === undefined || Math.abs(at(instant) - at(last)) >= room) kept.push(instant);
  }
  return kept;
}

function Belief({ token, id, version, go }: { token: string; id: string; version: FactVersion; go: Go }) {
  // Both periods hold at their first instant; an open beginning holds just before its end, or else now.
  const asOf = version.validFrom ?? (version.validTo === null ? null : new Date(toMs(version.validTo) - 1).toISOString());
  const knownAt = version.systemFrom;
  const [loaded] = useLoad(version.id, async (signal) => {
    const point = { id, asOf, knownAt };
    if (version.kind === 'DOCUMENT') return (await ask(token, DOCUMENT_AT, point, signal)).document?.text ?? null;
    if (version.kind === 'MEMORY') return (await ask(token, MEMORY_AT, point, signal)).memory?.text ?? null;
    return JSON.stringify(version.value, null, 2);
  });
  return (
    <div className="belief-text">
      <div className="row">
        <h3>What was believed</h3>
        <button
          type="button"
          onClick={() => go({ asOf: asOf ?? '', knownAt: version.systemTo === null ? '' : knownAt, tab: 'answer' })}
        >
          Ask again at that moment
        </button>
      </div>
      {loaded.state === 'failed' ? <Trouble error={loaded.error} /> : <pre tabIndex={0}>{valueOf(loaded) ?? 'Nothing.'}</pre>}
    </div>
  );
}

function Versions({ versions, picked, onPick }: { versions: readonly FactVersion[]; picked: string | null; onPick: (id: string) => void }) {
  return (
    <div className="table-frame" tabIndex={0} role="region" aria-label="Beliefs">
      <table>
        <thead>
          <tr>
            <th scope="col">Belief</th>
            <th scope="col">True from</th>
            <th scope="col">to</th>
            <th scope="col">Believed from</th>
            <th scope="col">to</th>
          </tr>
        </thead>
        <tbody>
          {versions.map((version, index) => (
            <tr key={version.id} aria-selected={picked === version.id}>
              <th scope="row">
                <button type="button" className="quiet" onClick={() => onPick(version.id)}>
                  {index + 1}
                </button>
              </th>
              <td>{version.validFrom ? full(version.validFrom) : 'always'}</td>
              <td>{version.validTo ? full(version.validTo) : 'open'}</td>
              <td>{full(version.systemFrom)}</td>
              <td>{version.systemTo ? full(version.systemTo) : 'still'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function nameOf(version: FactVersion | undefined): string {
  const name = version?.value['externalId'] ?? version?.value['title'] ?? version?.value['text'];
  return typeof name === 'string' ? name.slice(0, 80).replace(/\.$/, '') : 'this';
}
