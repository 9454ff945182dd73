import { lazy, Suspense, useCallback, useEffect, useState } from 'react';
import { InspectView } from './inspect/InspectView';
import { useAddress } from './session/address';
import { checkToken, clearToken, isExpired, readToken, saveToken, takeTokenFromAddress } from './session/token';
import { Header } from './shell/Header';
import { useTheme } from './shell/theme';
import { TokenBanner, type TokenProblem } from './shell/TokenBanner';
import './shell/shell.css';

// The editor is megabytes: whoever looks at an answer does not wait for it.
const ExploreView = lazy(async () => ({ default: (await import('./explore/ExploreView')).ExploreView }));
const SchemaView = lazy(async () => ({ default: (await import('./schema/SchemaView')).SchemaView }));

/** The page: a header, the token's state, and one view. */
export function App() {
  const [token, setToken] = useState(() => takeTokenFromAddress() ?? readToken());
  const [rejected, setRejected] = useState(false);
  const [address, go] = useAddress();
  const [theme, setTheme] = useTheme();

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
      <Header
        tokenFilledIn={problem === null}
        onForget={forget}
        address={address}
        go={go}
        theme={theme}
        onTheme={setTheme}
      />
      {problem !== null && <TokenBanner problem={problem} onToken={accept} />}
      <main className={`view view-${address.view}`}>
        <Suspense fallback={<p className="view-loading">Loading…</p>}>
          {address.view === 'inspect' && (
            <InspectView key={token} token={token} address={address} go={go} onUnauthenticated={onUnauthenticated} />
          )}
          {address.view === 'explore' && (
            // A new token starts the editors anew, so that no tab keeps the old one; the tabs' texts are stored.
            <ExploreView key={token} token={token} theme={theme} onUnauthenticated={onUnauthenticated} />
          )}
          {address.view === 'schema' && <SchemaView token={token} address={address} go={go} />}
        </Suspense>
      </main>
    </>
  );
}
