import 'graphiql/setup-workers/vite';
import { explorerPlugin } from '@graphiql/plugin-explorer';
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql';
import { useMemo, useState } from 'react';
import { firstOperation } from '../operations';
import type { Theme } from '../shell/theme';
import { EditorTheme } from './EditorTheme';
import { createFetcher, headersText } from './fetcher';
import { savedOperationsPlugin } from './SavedOperations';
import { storedActiveTab, tabOf } from './storedTabs';
import 'graphiql/style.css';
import '@graphiql/plugin-explorer/style.css';
import './explore.css';

const PLUGINS = [savedOperationsPlugin, explorerPlugin(), HISTORY_PLUGIN];
const WIDE = '(min-width: 1000px)';

interface ExploreViewProps {
  token: string | null;
  theme: Theme;
  onUnauthenticated: () => void;
}

/** GraphiQL with the saved operations; the token stands in the headers editor of every tab. */
export function ExploreView({ token, theme, onUnauthenticated }: ExploreViewProps) {
  const fetcher = useMemo(() => createFetcher(token, onUnauthenticated), [token, onUnauthenticated]);
  const [start] = useState(() => {
    const stored = storedActiveTab();
    return { tab: stored ?? tabOf(firstOperation), firstVisit: stored === null };
  });
  const headers = headersText(token);
  const options = {
    ...(start.firstVisit && matchMedia(WIDE).matches ? { visiblePlugin: savedOperationsPlugin } : {}),
    // Without a token introspection can only fail; the banner already says so.
    ...(token === null ? { schema: null } : {}),
  };

  return (
    <GraphiQL
      fetcher={fetcher}
      forcedTheme={theme}
      plugins={PLUGINS}
      {...options}
      initialQuery={start.tab.query}
      initialVariables={start.tab.variables}
      initialHeaders={headers}
      defaultHeaders={headers}
      defaultEditorToolsVisibility="variables"
      shouldPersistHeaders={false}
    >
      <GraphiQL.Logo>
        <EditorTheme />
      </GraphiQL.Logo>
    </GraphiQL>
  );
}
