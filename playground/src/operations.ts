import { lastAnswer } from './session/lastAnswer';
import askAsOfQuery from './operations/ask-as-of.graphql?raw';
import askAsOfVariables from './operations/ask-as-of.json';
import askQuery from './operations/ask.graphql?raw';
import askVariables from './operations/ask.json';
import attributionQuery from './operations/attribution.graphql?raw';
import attributionVariables from './operations/attribution.json';
import proveQuery from './operations/prove.graphql?raw';
import spacesAndStatusQuery from './operations/spaces-and-status.graphql?raw';
import whoAmIQuery from './operations/who-am-i.graphql?raw';

export interface SavedOperation {
  /** Name of the operation in its document; GraphiQL titles the tab with it. */
  name: string;
  title: string;
  summary: string;
  query: string;
  /** JSON text for the variables editor, made when the operation is opened. */
  variables: () => string;
}

export interface OperationGroup {
  title: string;
  operations: SavedOperation[];
}

const DAY_MS = 24 * 60 * 60 * 1000;
const noVariables = () => '';
const asJson = (value: object) => JSON.stringify(value, null, 2);

export const firstOperation: SavedOperation = {
  name: 'Ask',
  title: 'Ask',
  summary: 'What should the model read? Passages, citations, exclusions and the contract.',
  query: askQuery,
  variables: () => asJson(askVariables),
};

export const operationGroups: OperationGroup[] = [
  {
    title: 'Retrieve',
    operations: [
      firstOperation,
      {
        name: 'AskAsOf',
        title: 'Ask as of',
        summary: 'The same question at a moment of each clock: when it was true, and when we knew it.',
        query: askAsOfQuery,
        variables: () =>
          asJson({
            ...askAsOfVariables,
            asOf: new Date(Date.now() - DAY_MS).toISOString(),
            knownAt: lastAnswer().knownAt,
          }),
      },
    ],
  },
  {
    title: 'Evidence',
    operations: [
      {
        name: 'Prove',
        title: 'Prove',
        summary: 'Walks the chain of evidence and gives its verdict.',
        query: proveQuery,
        variables: noVariables,
      },
      {
        name: 'Attribution',
        title: 'Attribution',
        summary: 'The record of one delivery; filled in with the last answer of this page.',
        query: attributionQuery,
        variables: () => asJson({ ...attributionVariables, id: lastAnswer().attributionId ?? attributionVariables.id }),
      },
    ],
  },
  {
    title: 'Here',
    operations: [
      {
        name: 'WhoAmI',
        title: 'Who am I',
        summary: 'The principal behind the token.',
        query: whoAmIQuery,
        variables: noVariables,
      },
      {
        name: 'SpacesAndStatus',
        title: 'Spaces and status',
        summary: 'Where retrieval may look, and how the deployment is doing.',
        query: spacesAndStatusQuery,
        variables: noVariables,
      },
    ],
  },
];
