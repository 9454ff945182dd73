import { useState, type FormEvent } from 'react';
import { cleanToken } from '../session/token';

export type TokenProblem = 'missing' | 'expired' | 'rejected';

const SENTENCES: Record<TokenProblem, string> = {
  missing: 'Requests need a token.',
  expired: 'The token has expired.',
  rejected: 'The server did not accept this token.',
};

interface TokenBannerProps {
  problem: TokenProblem;
  onToken: (token: string) => void;
}

/** Says how to get a token and takes a pasted one. */
export function TokenBanner({ problem, onToken }: TokenBannerProps) {
  const [text, setText] = useState('');
  const [refused, setRefused] = useState(false);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const token = cleanToken(text);
    setRefused(token === null);
    if (token !== null) onToken(token);
  };

  return (
    <section className="token-banner" aria-label="Access token">
      <p>
        {SENTENCES[problem]} Run <code>muniment token</code> and paste what it prints.
      </p>
      <form onSubmit={submit}>
        <label htmlFor="token-field">Token</label>
        <input
          id="token-field"
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={text}
          aria-invalid={refused}
          aria-describedby={refused ? 'token-refused' : undefined}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit">Use token</button>
        {refused && (
          <span id="token-refused" role="alert">
            That is not a token: it must be one word without spaces.
          </span>
        )}
      </form>
    </section>
  );
}
