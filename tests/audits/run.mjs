// Every GraphQL-over-HTTP audit of `graphql-http` against a server: one line of JSON an audit.
//
//     node run.mjs http://127.0.0.1:8000/graphql        with the token of $TOKEN, if that is set
import { auditServer } from "graphql-http";

const token = process.env.TOKEN;
const fetchFn = (url, options = {}) =>
  fetch(url, token ? { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } } : options);

for (const result of await auditServer({ url: process.argv[2], fetchFn })) {
  const { id, name, status, reason } = result;
  console.log(JSON.stringify({ id, name, status, reason: reason ?? null }));
}
