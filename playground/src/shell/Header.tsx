import markUrl from '../assets/favicon.svg';
import { formatAddress, type Address, type Go, type View } from '../session/address';
import type { Theme } from './theme';

interface HeaderProps {
  tokenFilledIn: boolean;
  onForget: () => void;
  address: Address;
  go: Go;
  theme: Theme;
  onTheme: (theme: Theme) => void;
}

const VIEWS: readonly { view: View; title: string }[] = [
  { view: 'inspect', title: 'Inspect' },
  { view: 'explore', title: 'Explore' },
  { view: 'schema', title: 'Schema' },
];

const THEMES: readonly { theme: Theme; title: string }[] = [
  { theme: 'system', title: 'Auto' },
  { theme: 'light', title: 'Light' },
  { theme: 'dark', title: 'Dark' },
];

export function Header({ tokenFilledIn, onForget, address, go, theme, onTheme }: HeaderProps) {
  return (
    <header className="bar">
      <img className="bar-mark" src={markUrl} alt="" width="26" height="26" />
      <h1 className="bar-name">Muniment</h1>
      <nav className="bar-views" aria-label="Views">
        {VIEWS.map(({ view, title }) => (
          <a
            key={view}
            href={formatAddress({ ...address, view }) || '#'}
            aria-current={address.view === view ? 'page' : undefined}
            onClick={(event) => {
              if (event.metaKey || event.ctrlKey || event.shiftKey) return;
              event.preventDefault();
              go({ view });
            }}
          >
            {title}
          </a>
        ))}
      </nav>
      <p className="bar-line">What the model should read, and proof of what it was given.</p>
      <div className="bar-end">
        <label className="bar-theme">
          <span className="hidden">Colours</span>
          <select value={theme} onChange={(event) => onTheme(themeOf(event.target.value))}>
            {THEMES.map((item) => (
              <option key={item.theme} value={item.theme}>
                {item.title}
              </option>
            ))}
          </select>
        </label>
        {tokenFilledIn && (
          <button type="button" onClick={onForget} title="The token is filled in; this takes it out of this tab">
            Forget token
          </button>
        )}
      </div>
    </header>
  );
}

function themeOf(value: string): Theme {
  return value === 'light' || value === 'dark' ? value : 'system';
}
