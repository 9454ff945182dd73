import { NetworkError, createClient } from 'graphql-sse';
import type { TypedDocumentString } from './generated/graphql.js';

/** What every error of the API says of itself; `code` is one of the schema's `ErrorCode`. */
export interface Refusal {
  readonly code: string;
  readonly field: string | null;
  readonly requestId: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
}

interface GraphQLAnswer<Result> {
  readonly data?: Result | null;
  readonly errors?: readonly { readonly message: string; readonly extensions?: unknown }[];
}

/** The API refused; `refusal` is null when what answered was not the API. */
export class ApiError extends Error {
  constructor(message: string, readonly refusal: Refusal | null, options?: ErrorOptions) {
    super(message, options);
  }
}

function dataOf<Result>(answer: GraphQLAnswer<Result>): Result {
  const error = answer.errors?.[0];
  if (error) throw new ApiError(error.message, (error.extensions as Refusal | undefined) ?? null);
  if (!answer.data) throw new ApiError('the answer holds no data', null);
  return answer.data;
}

type Names = Record<string, unknown>;

/** One server and one credential: a token, or the key of a program. */
export class Muniment {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(server: string, credential: string) {
    this.#url = new URL('/graphql', server).href;
    this.#headers = { Authorization: `Bearer ${credential}` };
  }

  /** The answer to a query or mutation. Throws `ApiError`. */
  async ask<Result, Variables extends Names>(
    operation: TypedDocumentString<Result, Variables>,
    variables: Variables,
  ): Promise<Result> {
    const request = fetch(this.#url, {
      method: 'POST',
      headers: {
        ...this.#headers,
        'Content-Type': 'application/json',
        Accept: 'application/graphql-response+json, application/json',
      },
      body: JSON.stringify({ query: operation.toString(), variables }),
    });
    const response = await request.catch((cause: unknown) => {
      throw new ApiError('the server does not answer', null, { cause });
    });
    if (!response.headers.get('Content-Type')?.includes('json')) {
      throw new ApiError(`the server answered ${response.status}`, null);
    }
    return dataOf((await response.json()) as GraphQLAnswer<Result>);
  }

  /** The events of a subscription, until it ends or the caller leaves the loop. Throws `ApiError`. */
  async *follow<Result, Variables extends Names>(
    operation: TypedDocumentString<Result, Variables>,
    variables: Variables,
  ): AsyncGenerator<Result, void, void> {
    const events = createClient({ url: this.#url, headers: this.#headers, retryAttempts: 0 });
    try {
      for await (const event of events.iterate<Result>({ query: operation.toString(), variables })) {
        yield dataOf(event);
      }
    } catch (cause) {
      if (!(cause instanceof NetworkError)) throw cause;
      throw new ApiError('the server does not answer', null, { cause });
    } finally {
      events.dispose();
    }
  }
}
