const STORAGE_KEY = 'muniment:token';
const PRINTABLE = /^[\x21-\x7e]+$/;

/** The bare token in what a person pasted (a token, a header value or the printed link), or null if there is none. */
export function cleanToken(text: string): string | null {
  const fromLink = /[#&]token=([^&\s]+)/.exec(text)?.[1];
  const token = (fromLink ?? text).trim().replace(/^(authorization:\s*)?bearer\s+/i, '');
  return PRINTABLE.test(token) ? token : null;
}

/** Takes `#token=…` out of the address bar and keeps it for this browser tab. Other parts of the fragment stay. */
export function takeTokenFromAddress(): string | null {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const text = fragment.get('token');
  if (text === null) return null;
  fragment.delete('token');
  const rest = fragment.toString();
  history.replaceState(history.state, '', location.pathname + location.search + (rest ? `#${rest}` : ''));
  const token = cleanToken(text);
  if (token !== null) saveToken(token);
  return token;
}

export function readToken(): string | null {
  return sessionStorage.getItem(STORAGE_KEY);
}

export function saveToken(token: string): void {
  sessionStorage.setItem(STORAGE_KEY, token);
}

export function clearToken(): void {
  sessionStorage.removeItem(STORAGE_KEY);
}

/** Whether a JWT's `exp` lies before `nowMs`. Anything that is not a readable JWT counts as not expired. */
export function isExpired(token: string, nowMs: number): boolean {
  const payload = token.split('.')[1];
  if (!payload) return false;
  try {
    const claims: unknown = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    if (typeof claims !== 'object' || claims === null || !('exp' in claims)) return false;
    return typeof claims.exp === 'number' && claims.exp * 1000 <= nowMs;
  } catch {
    return false;
  }
}

/** Whether the server believes the token; true when it could not be asked, so that nothing is said in error. */
export async function checkToken(token: string): Promise<boolean> {
  try {
    const response = await fetch('/graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ operationName: 'CheckToken', query: 'query CheckToken { me { id } }' }),
    });
    const body = (await response.json()) as { errors?: { extensions?: { code?: string } }[] };
    return !body.errors?.some((error) => error.extensions?.code === 'UNAUTHENTICATED');
  } catch {
    return true;
  }
}
