import { useCallback, useEffect, useState } from 'react';
import { ExploreView } from './explore/ExploreView';
import { checkToken, clearToken, isExpired, readToken, saveToken, takeTokenFromAddress } from './session/token';
import { Header } from './shell/Header';
import { TokenBanner, type TokenProblem } from './shell/TokenBanner';
import './shell/shell.css';

/** The page: a header, the token's state, and one view (the explorer; the inspector will stand beside it). */
export function App() {
  const [token, setToken] = useState(() => takeTokenFromAddress() ?? readToken());
  const [rejected, setRejected] = useState(false);

  const accept = useCallback((next: string) => {
    saveToken(next);
    setToken(next);
    setRejected(false);
  }, []);

  const forget = useCallback(() => {
    clearToken();
    setToken(null);
    setRejected(false);
  }, []);

  useEffect(() => {
    // The printed link may be opened in a tab where the page is already there: only the fragment changes then.
    const onHashChange = () => {
      const next = takeTokenFromAddress();
      if (next) accept(next);
    };
    window.addEventListener('hashchange', onHashChange);
    return () => window.removeEventListener('hashchange', onHashChange);
  }, [accept]);

  const onUnauthenticated = useCallback(() => setRejected(true), []);

  useEffect(() => {
    // The schema is read without a credential, so whether this one is believed is asked by itself, once.
    if (token !== null) void checkToken(token).then((believed) => believed || onUnauthenticated());
  }, [token, onUnauthenticated]);
  const problem: TokenProblem | null =
    token === null ? 'missing' : isExpired(token, Date.now()) ? 'expired' : rejected ? 'rejected' : null;

  return (
    <>
      <Header tokenFilledIn={problem === null} onForget={forget} />
      {problem !== null && <TokenBanner problem={problem} onToken={accept} />}
      <main className="view">
        {/* A new token starts the editors anew, so that no tab keeps the old one; the tabs' texts are stored. */}
        <ExploreView key={token} token={token} onUnauthenticated={onUnauthenticated} />
      </main>
    </>
  );
}
