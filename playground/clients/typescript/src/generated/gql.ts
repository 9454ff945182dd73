/* eslint-disable */
import * as types from './graphql.js';



/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "\n  query Ask($input: RetrieveInput!) {\n    retrieve(input: $input) {\n      attributionId\n      passages {\n        text\n        score\n        validFrom\n        validTo\n        accessPolicy\n        citation { index title externalId headingPath page sheet rowStart rowEnd url }\n      }\n      exclusions { type stage count }\n      limitations { code message }\n      contract { validAt knownAt }\n    }\n  }\n": typeof types.AskDocument,
    "\n  mutation Link($attributionId: ID!, $responseId: String!) {\n    linkResponse(attributionId: $attributionId, responseId: $responseId) { attributionId responseId }\n  }\n": typeof types.LinkDocument,
    "\n  query Record($id: ID!) {\n    attribution(id: $id) { id state sequence record }\n  }\n": typeof types.RecordDocument,
    "\n  subscription Follow($attributionId: ID!) {\n    contextChanged(attributionId: $attributionId) {\n      attribution { id }\n      moved { itemId wholeId movement at }\n    }\n  }\n": typeof types.FollowDocument,
};
const documents: Documents = {
    "\n  query Ask($input: RetrieveInput!) {\n    retrieve(input: $input) {\n      attributionId\n      passages {\n        text\n        score\n        validFrom\n        validTo\n        accessPolicy\n        citation { index title externalId headingPath page sheet rowStart rowEnd url }\n      }\n      exclusions { type stage count }\n      limitations { code message }\n      contract { validAt knownAt }\n    }\n  }\n": types.AskDocument,
    "\n  mutation Link($attributionId: ID!, $responseId: String!) {\n    linkResponse(attributionId: $attributionId, responseId: $responseId) { attributionId responseId }\n  }\n": types.LinkDocument,
    "\n  query Record($id: ID!) {\n    attribution(id: $id) { id state sequence record }\n  }\n": types.RecordDocument,
    "\n  subscription Follow($attributionId: ID!) {\n    contextChanged(attributionId: $attributionId) {\n      attribution { id }\n      moved { itemId wholeId movement at }\n    }\n  }\n": types.FollowDocument,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Ask($input: RetrieveInput!) {\n    retrieve(input: $input) {\n      attributionId\n      passages {\n        text\n        score\n        validFrom\n        validTo\n        accessPolicy\n        citation { index title externalId headingPath page sheet rowStart rowEnd url }\n      }\n      exclusions { type stage count }\n      limitations { code message }\n      contract { validAt knownAt }\n    }\n  }\n"): typeof import('./graphql.js').AskDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation Link($attributionId: ID!, $responseId: String!) {\n    linkResponse(attributionId: $attributionId, responseId: $responseId) { attributionId responseId }\n  }\n"): typeof import('./graphql.js').LinkDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Record($id: ID!) {\n    attribution(id: $id) { id state sequence record }\n  }\n"): typeof import('./graphql.js').RecordDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription Follow($attributionId: ID!) {\n    contextChanged(attributionId: $attributionId) {\n      attribution { id }\n      moved { itemId wholeId movement at }\n    }\n  }\n"): typeof import('./graphql.js').FollowDocument;


export function graphql(source: string) {
  return (documents as Record<string, unknown>)[source] ?? {};
}
