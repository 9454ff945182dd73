import type { SavedOperation } from '../operations';

const TABS_KEY = 'graphiql:tabState';

export interface OpenTab {
  query: string;
  variables: string;
}

/**
 * The tab that GraphiQL kept open from an earlier visit, or null on the first.
 * GraphiQL restores the tabs itself but fills its editors from other keys, which it may not have written yet.
 */
export function storedActiveTab(): OpenTab | null {
  try {
    const state: unknown = JSON.parse(localStorage.getItem(TABS_KEY) ?? 'null');
    if (typeof state !== 'object' || state === null) return null;
    const { tabs, activeTabIndex } = state as { tabs?: unknown; activeTabIndex?: unknown };
    const tab: unknown = Array.isArray(tabs) ? tabs[Number(activeTabIndex)] : undefined;
    if (typeof tab !== 'object' || tab === null) return null;
    const { query, variables } = tab as { query?: unknown; variables?: unknown };
    return { query: asText(query), variables: asText(variables) };
  } catch {
    return null;
  }
}

export function tabOf(operation: SavedOperation): OpenTab {
  return { query: operation.query, variables: operation.variables() };
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
