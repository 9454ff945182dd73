import { ask } from '../api/client';
import { IMPACT } from '../api/operations';
import type { Address, Go } from '../session/address';
import { FactChooser } from './HistoryPanel';
import { full } from './instants';
import { Trouble } from './Trouble';
import { useLoad, valueOf } from './useLoad';
import { count } from './words';

interface ImpactPanelProps {
  token: string;
  address: Address;
  facts: readonly { id: string; name: string }[];
  go: Go;
}

/** Who was given a document or memory, and what they made of it. */
export function ImpactPanel({ token, address, facts, go }: ImpactPanelProps) {
  const id = address.fact || (facts[0]?.id ?? '');
  const [loaded, again] = useLoad(id || null, async (signal) => (await ask(token, IMPACT, { id }, signal)).impact);
  const impact = valueOf(loaded);
  return (
    <section className="panel wide" aria-label="Impact">
      <FactChooser id={id} facts={facts} onChoose={(fact) => go({ fact }, 'replace')} />
      {!id && <p>Ask something first, then choose a document or memory; or paste an id above.</p>}
      {loaded.state === 'failed' && <Trouble error={loaded.error} onRetry={again} />}
      {loaded.state === 'loading' && !impact && <p className="waiting">Looking through the evidence…</p>}
      {impact && (
        <>
          <p>
            {impact.edges.length === 0
              ? 'No retrieval that you may see delivered it.'
              : `Delivered by ${impact.pageInfo.hasNextPage ? 'more than ' : ''}${count(impact.edges.length, 'retrieval')} that you may see, the newest first.`}
          </p>
          <div className="table-frame" tabIndex={0} role="region" aria-label="Retrievals">
            <table>
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Record</th>
                  <th scope="col">Place</th>
                  <th scope="col">Parts</th>
                  <th scope="col">Responses</th>
                </tr>
              </thead>
              <tbody>
                {impact.edges.map(({ node }) => (
                  <tr key={node.attribution.id}>
                    <td>{full(node.attribution.queuedAt)}</td>
                    <th scope="row">
                      <code title={node.attribution.id}>…{node.attribution.id.slice(-12)}</code>
                    </th>
                    <td className="num">{node.attribution.sequence ?? 'waiting'}</td>
                    <td className="num">{node.itemIds.length}</td>
                    <td>{node.responses.length === 0 ? 'none linked' : node.responses.map((item) => item.responseId).join(', ')}</td>
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
