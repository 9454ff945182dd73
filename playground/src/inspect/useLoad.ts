import { useCallback, useEffect, useState } from 'react';
import { ApiError } from '../api/client';

export type Loaded<T> =
  | { state: 'idle' }
  | { state: 'loading'; before: T | null }
  | { state: 'done'; value: T }
  | { state: 'failed'; error: ApiError };

/** Something that is fetched, anew whenever `key` changes; a null key fetches nothing. */
export function useLoad<T>(key: string | null, fetchIt: (signal: AbortSignal) => Promise<T>): [Loaded<T>, () => void] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: key === null ? 'idle' : 'loading', before: null });
  const [round, setRound] = useState(0);

  useEffect(() => {
    if (key === null) {
      setLoaded({ state: 'idle' });
      return undefined;
    }
    const control = new AbortController();
    setLoaded((before) => ({ state: 'loading', before: valueOf(before) }));
    fetchIt(control.signal).then(
      (value) => control.signal.aborted || setLoaded({ state: 'done', value }),
      (reason: unknown) => control.signal.aborted || setLoaded({ state: 'failed', error: asApiError(reason) }),
    );
    return () => control.abort();
    // What is fetched follows from the key alone.
  }, [key, round]);

  const again = useCallback(() => setRound((value) => value + 1), []);
  return [loaded, again];
}

/** What is there to be shown: the value, or while another one loads the one before. */
export function valueOf<T>(loaded: Loaded<T>): T | null {
  if (loaded.state === 'done') return loaded.value;
  return loaded.state === 'loading' ? loaded.before : null;
}

export function asApiError(reason: unknown): ApiError {
  if (reason instanceof ApiError) return reason;
  return new ApiError(reason instanceof Error ? reason.message : String(reason), 'PAGE', null, null);
}
