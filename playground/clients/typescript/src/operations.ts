import { graphql } from './generated/gql.js';

export const Ask = graphql(/* GraphQL */ `
  query Ask($input: RetrieveInput!) {
    retrieve(input: $input) {
      attributionId
      passages {
        text
        score
        validFrom
        validTo
        accessPolicy
        citation { index title externalId headingPath page sheet rowStart rowEnd url }
      }
      exclusions { type stage count }
      limitations { code message }
      contract { validAt knownAt }
    }
  }
`);

export const Link = graphql(/* GraphQL */ `
  mutation Link($attributionId: ID!, $responseId: String!) {
    linkResponse(attributionId: $attributionId, responseId: $responseId) { attributionId responseId }
  }
`);

export const Record = graphql(/* GraphQL */ `
  query Record($id: ID!) {
    attribution(id: $id) { id state sequence record }
  }
`);

export const Follow = graphql(/* GraphQL */ `
  subscription Follow($attributionId: ID!) {
    contextChanged(attributionId: $attributionId) {
      attribution { id }
      moved { itemId wholeId movement at }
    }
  }
`);
