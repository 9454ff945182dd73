import { createGraphiQLFetcher, type Fetcher } from '@graphiql/toolkit';
import { rememberAnswer } from '../session/lastAnswer';

/** The value of the headers editor for a token; empty without one. */
export function headersText(token: string | null): string {
  return token === null ? '' : JSON.stringify({ Authorization: `Bearer ${token}` }, null, 2);
}

/**
 * Posts to `/graphql` with the headers of the editor and nothing else, so that what is seen is what is sent.
 * Only introspection gets the token added: GraphiQL starts it before its headers editor exists.
 */
export function createFetcher(token: string | null, onUnauthenticated: () => void): Fetcher {
  const send: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => null);
    rememberAnswer(body);
    if (response.status === 401 || hasCode(body, 'UNAUTHENTICATED')) onUnauthenticated();
    return response;
  };
  const options = { url: '/graphql', fetch: send, enableIncrementalDelivery: false };
  const base = createGraphiQLFetcher(options);

  return (params, opts) => {
    const headers: Record<string, string> = { ...opts?.headers };
    const hasOwn = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
    if (params.operationName === 'IntrospectionQuery' && token !== null && !hasOwn) {
      headers['Authorization'] = `Bearer ${token}`;
    }
    return base(params, { ...opts, headers });
  };
}

function hasCode(body: unknown, code: string): boolean {
  const errors = (body as { errors?: { extensions?: { code?: unknown } }[] } | null)?.errors;
  return Array.isArray(errors) && errors.some((error) => error?.extensions?.code === code);
}
