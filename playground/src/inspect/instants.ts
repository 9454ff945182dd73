/** Instants of the API as people read them, in the reader's own time zone. */

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const MINUTE = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const SECOND = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

export function toMs(instant: string): number {
  return Date.parse(instant);
}

export function toInstant(ms: number): string {
  return new Date(Math.round(ms)).toISOString();
}

/** To the minute, as in "30 Nov, 14:20". */
export function brief(instant: string): string {
  return MINUTE.format(toMs(instant));
}

/** To the second, with the year. */
export function full(instant: string): string {
  return SECOND.format(toMs(instant));
}

export function day(instant: string): string {
  return DAY.format(toMs(instant));
}

/** "always", or since when. */
export function since(instant: string | null): string {
  return instant === null ? 'always' : brief(instant);
}

/** "open", or until when. */
export function until(instant: string | null): string {
  return instant === null ? 'open' : brief(instant);
}

/** How long ago something was, in the largest unit that says it. */
export function ago(hours: number): string {
  if (hours < 1) return 'under an hour';
  if (hours < 48) return `${Math.round(hours)} h`;
  return `${Math.round(hours / 24)} days`;
}

/** An instant that a person typed, with the browser's offset where it names none; null where it is none. */
export function parseTyped(text: string): string | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : /(Z|[+-]\d\d:?\d\d)$/i.test(text.trim()) ? text.trim() : toInstant(ms);
}
