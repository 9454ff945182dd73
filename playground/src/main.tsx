import { createRoot } from 'react-dom/client';
import { App } from './App';
import { showStoredTheme } from './shell/theme';

showStoredTheme();
const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root element');
createRoot(root).render(<App />);
