import { useEffect, useRef, useState } from 'react';
import { ApiError, ask, follow } from '../api/client';
import { CHECKPOINT, HEAD, VERIFY } from '../api/operations';
import type { VerificationEvent } from '../api/types';
import { brief } from './instants';
import { Trouble } from './Trouble';
import { asApiError, useLoad, valueOf } from './useLoad';

interface ChainProps {
  token: string;
  /** Place of the answer's record. */
  sequence: number | null;
  /** Records under the checkpoint that proves it. */
  covered: number | null;
}

/** The whole chain as a strip: where the record stands, how far it is signed, and a button that has it verified. */
export function Chain({ token, sequence, covered }: ChainProps) {
  const [loaded] = useLoad(`${sequence} ${covered}`, async (signal) => {
    const [checkpoint, head] = await Promise.all([
      permitted(ask(token, CHECKPOINT, {}, signal).then((answer) => answer.checkpoint)),
      permitted(ask(token, HEAD, {}, signal).then((answer) => Number(answer.status.chainHeadSequence))),
    ]);
    return { checkpoint, head };
  });
  const [event, setEvent] = useState<VerificationEvent | null>(null);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const [running, setRunning] = useState(false);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);

  const verify = async () => {
    control.current?.abort();
    const mine = (control.current = new AbortController());
    setRunning(true);
    setEvent(null);
    setFailure(null);
    try {
      for await (const { chainVerification } of follow(token, VERIFY, {}, mine.signal)) setEvent(chainVerification);
    } catch (reason) {
      if (!mine.signal.aborted) setFailure(asApiError(reason));
    }
    if (!mine.signal.aborted) setRunning(false);
  };

  const here = valueOf(loaded);
  const signed = here?.checkpoint ? Number(here.checkpoint.treeSize) : (covered ?? 0);
  const verdict = event?.verification ?? null;
  const checked = event ? Number(event.checkedRecords) : 0;
  const bad = verdict?.firstBadSequence == null ? null : Number(verdict.firstBadSequence);
  const length = Math.max(here?.head ?? 0, sequence ?? 0, signed, event ? Number(event.totalRecords) : 0, 1);
  const place = (number: number) => `${((number - 0.5) / length) * 100}%`;
  return (
    <div className="chain">
      <div className="row">
        <h2>The chain</h2>
        <button type="button" disabled={running} onClick={() => void verify()}>
          {running ? 'Verifying…' : 'Verify'}
        </button>
      </div>
      <div className="strip" role="img" aria-label={`${length} records; this one is at ${sequence ?? 'no place yet'}; ${signed} are signed`}>
        <span className="strip-signed" style={{ width: `${(signed / length) * 100}%` }} />
        {event && <span className="strip-checked" style={{ width: `${(checked / length) * 100}%` }} />}
        {bad !== null && <span className="strip-bad" style={{ left: place(bad) }} />}
        {sequence !== null && <span className="strip-here" style={{ left: place(sequence) }} />}
      </div>
      <p className="strip-said fine">
        {sequence === null ? 'Waiting for its place. ' : `This record is number ${sequence} of ${length}. `}
        {here?.checkpoint && `Signed up to ${signed}, last at ${brief(here.checkpoint.issuedAt)}.`}
      </p>
      <p className={`verified${verdict ? ` verified-${verdict.verdict === 'VALID' ? 'good' : 'bad'}` : ''}`} role="status">
        {verdict
          ? `${verdict.verdict}. ${verdict.reason}`
          : running
            ? `${checked} of ${event ? event.totalRecords : '…'} records checked`
            : 'The server checks every record’s MAC with its key.'}
      </p>
      {failure && <Trouble error={failure} />}
    </div>
  );
}

/** What a token without the permission does not get is left out. */
async function permitted<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (reason) {
    if (reason instanceof ApiError && reason.code === 'FORBIDDEN') return null;
    throw reason;
  }
}
