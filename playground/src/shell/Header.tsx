import markUrl from '../assets/favicon.svg';

interface HeaderProps {
  tokenFilledIn: boolean;
  onForget: () => void;
}

export function Header({ tokenFilledIn, onForget }: HeaderProps) {
  return (
    <header className="bar">
      <img className="bar-mark" src={markUrl} alt="" width="28" height="28" />
      <h1 className="bar-name">Muniment</h1>
      <p className="bar-line">What the model should read, and proof of what it was given.</p>
      {tokenFilledIn && (
        <div className="bar-token">
          <span title="See the Headers tab below the operation">Token filled in</span>
          <button type="button" onClick={onForget}>
            Forget
          </button>
        </div>
      )}
    </header>
  );
}
