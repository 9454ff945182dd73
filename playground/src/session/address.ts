import { useCallback, useSyncExternalStore } from 'react';

export type View = 'inspect' | 'explore' | 'schema';
export type Tab = 'answer' | 'left-out' | 'history' | 'proof' | 'replay' | 'impact';

/** What the page shows, as far as a link can say it. It stands in the fragment, which no server is ever sent. */
export interface Address {
  view: View;
  tab: Tab;
  /** The question; empty: nothing was asked. */
  q: string;
  space: string;
  subject: string;
  /** Instants, or empty for now. */
  asOf: string;
  knownAt: string;
  /** Numbers as they were typed; empty: the server's default. */
  topK: string;
  budget: string;
  perDocument: string;
  perLevel: string;
  minScore: string;
  mmr: string;
  related: 'yes' | 'no';
  memories: 'yes' | 'no';
  /** The document or memory whose history or impact is shown. */
  fact: string;
  /** What the schema page is searched for. */
  find: string;
}

export const DEFAULTS: Readonly<Address> = {
  view: 'inspect',
  tab: 'answer',
  q: '',
  space: '',
  subject: '',
  asOf: '',
  knownAt: '',
  topK: '',
  budget: '',
  perDocument: '',
  perLevel: '',
  minScore: '',
  mmr: '',
  related: 'yes',
  memories: 'yes',
  fact: '',
  find: '',
};

const VIEWS: readonly string[] = ['inspect', 'explore', 'schema'];
const TABS: readonly string[] = ['answer', 'left-out', 'history', 'proof', 'replay', 'impact'];
const CHANGED = 'muniment:address';

function isView(value: string): value is View {
  return VIEWS.includes(value);
}

function isTab(value: string): value is Tab {
  return TABS.includes(value);
}

export function parseAddress(fragment: string): Address {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const text = (name: keyof Address) => given.get(name) ?? '';
  return {
    ...DEFAULTS,
    q: text('q'),
    space: text('space'),
    subject: text('subject'),
    asOf: text('asOf'),
    knownAt: text('knownAt'),
    topK: text('topK'),
    budget: text('budget'),
    perDocument: text('perDocument'),
    perLevel: text('perLevel'),
    minScore: text('minScore'),
    mmr: text('mmr'),
    fact: text('fact'),
    find: text('find'),
    view: isView(text('view')) ? (text('view') as View) : DEFAULTS.view,
    tab: isTab(text('tab')) ? (text('tab') as Tab) : DEFAULTS.tab,
    related: text('related') === 'no' ? 'no' : 'yes',
    memories: text('memories') === 'no' ? 'no' : 'yes',
  };
}

/** The fragment, with its `#`, that says the same; empty for the page as it first stands. */
export function formatAddress(address: Address): string {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(address)) {
    if (value !== DEFAULTS[name as keyof Address]) said.set(name, value);
  }
  const text = said.toString();
  return text && `#${text}`;
}

let cached = { fragment: '', address: parseAddress('') };

function current(): Address {
  if (cached.fragment !== location.hash) cached = { fragment: location.hash, address: parseAddress(location.hash) };
  return cached.address;
}

function subscribe(listener: () => void): () => void {
  const events = ['popstate', 'hashchange', CHANGED];
  for (const event of events) window.addEventListener(event, listener);
  return () => {
    for (const event of events) window.removeEventListener(event, listener);
  };
}

export type Go = (changes: Partial<Address>, how?: 'push' | 'replace') => void;

/** The address as state: pushing makes a step that the back button takes back, replacing does not. */
export function useAddress(): [Address, Go] {
  const address = useSyncExternalStore(subscribe, current);
  const go = useCallback<Go>((changes, how = 'push') => {
    const next = location.pathname + location.search + formatAddress({ ...current(), ...changes });
    if (next === location.pathname + location.search + location.hash) return;
    if (how === 'push') history.pushState(null, '', next);
    else history.replaceState(null, '', next);
    window.dispatchEvent(new Event(CHANGED));
  }, []);
  return [address, go];
}
