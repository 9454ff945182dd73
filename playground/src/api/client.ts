/** A refusal of the API, or a server that does not answer (`code` UNREACHABLE). */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly field: string | null,
    readonly requestId: string | null,
  ) {
    super(message);
  }
}

interface Refusal {
  message: string;
  extensions?: { code?: string; field?: string | null; requestId?: string | null };
}

interface Body<T> {
  data?: T | null;
  errors?: Refusal[];
}

/** A value of the scalar BigInt. */
export type Big = number | string;

export type Variables = Readonly<Record<string, unknown>>;

/** One operation of this page and the shape of its answer. */
export interface Operation<T> {
  readonly text: string;
  readonly answer?: T;
}

function refusal(error: Refusal): ApiError {
  const { code, field, requestId } = error.extensions ?? {};
  return new ApiError(error.message, code ?? 'BAD_USER_INPUT', field ?? null, requestId ?? null);
}

function post(token: string, text: string, variables: Variables, accept: string, signal?: AbortSignal) {
  return fetch('/graphql', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: accept,
      Authorization: `Bearer ${token}`,
      'X-Muniment-Client': 'playground/1',
    },
    body: JSON.stringify({ query: text, variables }),
    signal: signal ?? null,
  }).catch((reason: unknown) => {
    if (signal?.aborted) throw reason;
    throw new ApiError('The server does not answer.', 'UNREACHABLE', null, null);
  });
}

/** The answer to an operation, or an `ApiError`. */
export async function ask<T>(
  token: string,
  operation: Operation<T>,
  variables: Variables = {},
  signal?: AbortSignal,
): Promise<T> {
  const response = await post(token, operation.text, variables, 'application/json', signal);
  let body: Body<T>;
  try {
    body = (await response.json()) as Body<T>;
  } catch (reason) {
    if (signal?.aborted) throw reason;
    throw new ApiError(`The server answered ${response.status}.`, 'UNREACHABLE', null, null);
  }
  const first = body.errors?.[0];
  if (first) throw refusal(first);
  if (!body.data) throw new ApiError(`The server answered ${response.status}.`, 'INTERNAL', null, null);
  return body.data;
}

/** The events of a subscription, over server-sent events; ends with the subscription or the signal. */
export async function* follow<T>(
  token: string,
  operation: Operation<T>,
  variables: Variables,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const response = await post(token, operation.text, variables, 'text/event-stream', signal);
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const body = (await response.json()) as Body<T>;
    throw refusal(body.errors?.[0] ?? { message: `The server answered ${response.status}.` });
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value.replaceAll('\r\n', '\n');
    const events = waiting.split('\n\n');
    waiting = events.pop() ?? '';
    for (const event of events) {
      const lines = event.split('\n');
      if (lines.includes('event: complete')) return;
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart());
      if (data.length === 0 || data.join('') === '') continue;
      const body = JSON.parse(data.join('\n')) as Body<T>;
      if (body.errors?.[0]) throw refusal(body.errors[0]);
      if (body.data) yield body.data;
    }
  }
}
