import { useEffect, useMemo, useState } from 'react';
import type { Address, Go } from '../session/address';
import { full, toInstant, toMs } from './instants';
import { Scale, type Moments } from './moments';
import { count } from './words';

interface ClocksProps {
  address: Address;
  moments: Moments;
  /** Whether the histories could not be read, so that nothing is marked. */
  unread: boolean;
  go: Go;
}

/** The two clocks as sliders: what was true then, and what was known then. Letting go asks again. */
export function Clocks({ address, moments, unread, go }: ClocksProps) {
  return (
    <section className="clocks" aria-label="Moment">
      <Clock
        title="True at"
        hint="valid time: when it holds in the world"
        chosen={address.asOf}
        moments={moments.valid}
        unread={unread}
        onChoose={(asOf) => go({ asOf }, 'replace')}
      />
      <Clock
        title="Known at"
        hint="system time: when it was believed here"
        chosen={address.knownAt}
        moments={moments.known}
        unread={unread}
        onChoose={(knownAt) => go({ knownAt }, 'replace')}
      />
    </section>
  );
}

interface ClockProps {
  title: string;
  hint: string;
  chosen: string;
  moments: readonly string[];
  unread: boolean;
  onChoose: (instant: string) => void;
}

const STEPS = 1000;
const HOUR = 3_600_000;

function Clock({ title, hint, chosen, moments, unread, onChoose }: ClockProps) {
  const { scale, now, marks } = useMemo(() => {
    const nowMs = Date.now();
    const places = moments.map(toMs);
    const first = Math.min(nowMs, ...places);
    const last = Math.max(nowMs, ...places);
    const pad = Math.max((last - first) * 0.08, HOUR / 6);
    const ahead = last > nowMs ? last + pad : nowMs;
    const made = new Scale([...places, nowMs], first - pad, ahead);
    return { scale: made, now: nowMs, marks: moments.map((instant, index) => ({ instant, at: made.at(places[index] ?? nowMs) })) };
  }, [moments]);
  const [dragged, setDragged] = useState<number | null>(null);
  useEffect(() => setDragged(null), [chosen]);

  const at = dragged ?? (chosen ? scale.at(toMs(chosen)) : scale.at(now));
  const isNow = dragged === null ? !chosen : Math.abs(dragged - scale.at(now)) < 0.004;
  const shown = dragged === null ? chosen : toInstant(scale.ms(dragged));
  const said = isNow ? 'now' : full(shown);

  const choose = () => {
    if (dragged === null) return;
    if (isNow && !chosen) setDragged(null);
    onChoose(isNow ? '' : nearest(marks, dragged) ?? toInstant(scale.ms(dragged)));
  };
  const here = chosen ? toMs(chosen) : now;
  const before = marks.filter((mark) => toMs(mark.instant) < here).at(-1)?.instant ?? (chosen && toMs(chosen) <= scale.ms(0) ? null : toInstant(scale.ms(0)));
  const after = marks.find((mark) => toMs(mark.instant) > here)?.instant ?? null;

  return (
    <div className="clock">
      <div className="clock-head">
        <h3>
          {title} <span className="fine clock-hint">{hint}</span>
        </h3>
        <output className={isNow ? 'clock-now' : 'clock-then'}>{said}</output>
      </div>
      <div className="clock-row">
        <button type="button" className="step" disabled={before === null} aria-label={`${title}: the change before`} onClick={() => before !== null && onChoose(before)}>
          ‹
        </button>
        <div className="clock-track">
          <svg className="clock-marks" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
            {marks.map((mark) => (
              <line key={mark.instant} x1={mark.at * 1000} x2={mark.at * 1000} y1="0" y2="10" />
            ))}
          </svg>
          <input
            type="range"
            min={0}
            max={STEPS}
            value={Math.round(at * STEPS)}
            aria-label={title}
            aria-valuetext={said}
            onChange={(event) => setDragged(Number(event.target.value) / STEPS)}
            onPointerUp={choose}
            onKeyUp={choose}
            onBlur={choose}
          />
        </div>
        <button
          type="button"
          className="step"
          disabled={!chosen}
          aria-label={`${title}: the change after`}
          onClick={() => onChoose(after !== null && toMs(after) <= now ? after : '')}
        >
          ›
        </button>
        <button type="button" className="step step-now" disabled={!chosen} aria-label={`${title}: now`} onClick={() => onChoose('')}>
          Now
        </button>
      </div>
      <p className="fine clock-foot">
        {unread
          ? 'The histories could not be read, so nothing is marked.'
          : marks.length === 0
            ? 'Nothing in this answer changed on this clock.'
            : `${count(marks.length, 'moment')} at which what is cited changed`}
      </p>
    </div>
  );
}

/** A mark that was meant, where one is near. */
function nearest(marks: readonly { instant: string; at: number }[], at: number): string | null {
  const near = marks.filter((mark) => Math.abs(mark.at - at) < 0.012);
  near.sort((left, right) => Math.abs(left.at - at) - Math.abs(right.at - at));
  return near[0]?.instant ?? null;
}
