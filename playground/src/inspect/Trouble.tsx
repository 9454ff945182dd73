import type { ApiError } from '../api/client';

const ADVICE: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: 'Paste a fresh token above: run muniment token.',
  FORBIDDEN: 'Your token may not do this. Ask whoever administers the space for the permission.',
  SPACE_NOT_FOUND: 'Choose a space from the list, or ask for access to this one.',
  NOT_FOUND: 'It may be erased, or not yours to see. Check the id.',
  ATTRIBUTION_NOT_FOUND: 'The record is not chained yet, or not yours to see. Try again in a second.',
  BAD_USER_INPUT: 'Change what is named here, and ask again.',
  RATE_LIMITED: 'Wait a moment, then try again.',
  QUERY_TOO_COMPLEX: 'Ask for less at once.',
  SEARCH_UNAVAILABLE: 'The database cannot be reached. Try again shortly; nothing was delivered.',
  ATTRIBUTION_FAILED: 'The evidence could not be stored, so nothing was delivered. Try again.',
  UNREACHABLE: 'Is it running? Start it with make run, then try again.',
  CONFLICT: 'Run Verify on the chain to see where it goes wrong.',
  INTERNAL: 'A fault of the server; the request id finds it in the log.',
};

/** A failure that says what can be done about it. */
export function Trouble({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  return (
    <div className="trouble" role="alert">
      <p>
        <strong>{sentence(error.message)}</strong> {ADVICE[error.code] ?? 'Try again.'}
      </p>
      <p className="fine">
        {error.code}
        {error.field !== null && `, ${error.field}`}
        {error.requestId !== null && (
          <>
            , request <code>{error.requestId}</code>
          </>
        )}
      </p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

function sentence(message: string): string {
  const first = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
