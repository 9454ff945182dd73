"""G1: what is stored has a global id, and is listed in pages. What is not so stands here with the reason."""

from graphql import GraphQLField, GraphQLID, GraphQLObjectType, get_named_type, get_nullable_type, is_list_type

from schema.build import graphql_schema
from schema.types.connection import MAX_PAGE

CORE = graphql_schema._schema
ROOTS = {"Query", "Mutation", "Subscription"}

_ANSWER = "part of one answer, which is not stored as such; its record is"
_FIGURES = "figures of the deployment, counted when they are asked for"
_PROOF = "computed from the tree; whoever holds it names it by its hashes"
_RECEIPT = "tells what a write did; what it made has ids"

#: Types of objects without an `id`, and why.
WITHOUT_ID = {
    "RetrievalResult": "an answer; `requestId` and `attributionId` name it",
    "RetrievalComparison": _ANSWER,
    "ContextContract": "an answer's terms; `requestId` names it",
    "EffectiveParameters": _ANSWER,
    "Passage": "a delivered text; `chunkId` or `memoryId` name what it is of",
    "ChangedPassage": _ANSWER,
    "Citation": _ANSWER,
    "Freshness": _ANSWER,
    "PassageScores": _ANSWER,
    "Related": _ANSWER,
    "Exclusion": _ANSWER,
    "Limitation": _ANSWER,
    "SourceSummary": _ANSWER,
    "SearchMeta": _ANSWER,
    "StageTimings": _ANSWER,
    "DegradedStage": _ANSWER,
    "TraceCandidate": "part of a trace, which has an id; `itemId` names what it is of",
    "CandidateScores": "part of a trace",
    "ExclusionExplanation": "read off a trace",
    "PageInfo": "part of a page",
    "Replay": "made again each time it is asked for; nothing of it is stored",
    "ReplayedItem": "part of a replay; `itemId` names what it is of",
    "Drift": "part of a replay",
    "Impact": "an attribution, which has an id, with what it is asked about",
    "StaleAttribution": "an attribution, which has an id, with what it is asked about",
    "MovedItem": "`itemId` names it",
    "LinkedResponse": "`recordId` names it",
    "ChainVerification": "a verdict; as a stored run it is a ChainVerificationRun",
    "ChainVerificationEvent": "how far a check has come",
    "SequenceRange": "two numbers",
    "Checkpoint": "a signed note; its origin and `treeSize` name it in every log, as C2SP says",
    "InclusionProof": _PROOF,
    "ConsistencyProof": _PROOF,
    "EvidenceLeaf": "the bytes of a record; `attributionId` names it",
    "ProposedRevision": "a memory has an id, its revisions are numbered: both together are what arguments take",
    "MemoryProposal": _RECEIPT,
    "ForgottenSubject": _RECEIPT,
    "IngestReceipt": _RECEIPT,
    "IndexWork": _RECEIPT,
    "LinkResponsePayload": _RECEIPT,
    "CreatedApiKey": "the key in it has an id; the secret is not stored",
    "RevokedTokens": "told by the `jti`, or by subject and moment",
    "LevelWeights": "an organisation has one set",
    "LevelWeight": "one of a set; its level names it",
    "DlpPolicy": "an organisation has one; `version` names it in evidence",
    "ClassPolicy": "one of a set; its class names it",
    "SourceFindings": "counts of a source; `sourceId` names it",
    "DetectorCount": _FIGURES,
    "Capabilities": "what the deployment is set to",
    "ParameterLimits": "what the deployment is set to",
    "Status": _FIGURES,
    "EmbeddingStatus": _FIGURES,
    "OptionalStage": _FIGURES,
    "SpaceCoverage": "figures of a space; `spaceId` names it",
}

_DELIVERED = "an answer: bounded by `topK` and `maxMemories`, in an order of its own, and recorded whole"

#: Lists of objects or ids that are not pages, and why.
WITHOUT_PAGES = {
    "RetrievalResult.passages": _DELIVERED,
    "RetrievalResult.memories": _DELIVERED,
    "RetrievalResult.groupMemories": _DELIVERED,
    "RetrievalResult.citations": _DELIVERED,
    "RetrievalResult.exclusions": "one for each stage, reason, provider and kind",
    "RetrievalResult.limitations": "one a code",
    "RetrievalResult.sourcesSummary": _DELIVERED,
    "RetrievalComparison.added": _DELIVERED,
    "RetrievalComparison.removed": _DELIVERED,
    "RetrievalComparison.changed": _DELIVERED,
    "SearchMeta.degradedStages": "one a stage",
    "Trace.degradedStages": "one a stage",
    "ChainVerification.unverifiable": "at most 16 stretches",
    "Replay.drifts": "one a reason",
    "Replay.items": "what one retrieval delivers",
    "Drift.itemIds": "candidates of one retrieval",
    "Impact.itemIds": "what one retrieval delivered",
    "Impact.responses": "links of one retrieval, which are few; `attributions(requestId)` pages through them",
    "StaleAttribution.moved": "what one retrieval delivered",
    "ApiKey.allowedSpaces": "part of the key: at most 100, as it was given",
    "Lens.spaceIds": "part of the lens, as it was given",
    "LevelWeights.levels": "one a level",
    "DlpPolicy.classes": "one a class",
    "SourceFindings.counts": "one a detector",
    "Status.coverage": _FIGURES,
    "Mutation.grantPermissions": "what the call wrote: at most one a permission and period",
    "Mutation.revokePermissions": "what the call wrote: at most one a permission and period",
    "IngestReceipt.documents": "what the call was given: at most 1000",
}


def objects() -> dict[str, GraphQLObjectType]:
    """The object types that are the schema's own."""
    return {
        name: type_
        for name, type_ in CORE.type_map.items()
        if isinstance(type_, GraphQLObjectType) and not name.startswith("__") and name not in ROOTS
    }


def fields(name: str) -> dict[str, GraphQLField]:
    type_ = CORE.type_map[name]
    assert isinstance(type_, GraphQLObjectType)
    found: dict[str, GraphQLField] = type_.fields
    return found


def pages() -> dict[str, str]:
    """Each connection with the type of its items."""
    return {
        name: str(get_nullable_type(fields(name.removesuffix("Connection") + "Edge")["node"].type))
        for name in objects()
        if name.endswith("Connection")
    }


def test_what_has_no_global_id_is_listed_with_the_reason() -> None:
    parts_of_pages = {*pages(), *(name.removesuffix("Connection") + "Edge" for name in pages())}
    found = {name for name, type_ in objects().items() if "id" not in type_.fields} - parts_of_pages
    assert found == set(WITHOUT_ID)
    assert all(WITHOUT_ID.values())


def test_an_id_is_always_there() -> None:
    for name, type_ in objects().items():
        if "id" in type_.fields and name != "IngestedDocument":  # one that was not read has none
            assert str(type_.fields["id"].type) == "ID!", name


def test_every_list_of_what_is_stored_is_a_page() -> None:
    found = set()
    for owner in [*objects(), *ROOTS]:
        if owner in pages():
            continue
        for name, field in fields(owner).items():
            item = get_named_type(field.type)
            listed = is_list_type(get_nullable_type(field.type))
            if listed and (isinstance(item, GraphQLObjectType) or item is GraphQLID):
                found.add(f"{owner}.{name}")
    assert found == set(WITHOUT_PAGES)
    assert all(WITHOUT_PAGES.values())


def test_pages_have_the_shape_that_clients_know() -> None:
    """https://relay.dev/graphql/connections.htm"""
    for name in pages():
        edge = name.removesuffix("Connection") + "Edge"
        assert {key: str(field.type) for key, field in fields(name).items()} == {
            "edges": f"[{edge}!]!",
            "pageInfo": "PageInfo!",
        }
        assert str(fields(edge)["cursor"].type) == "String!"
        assert str(fields(edge)["node"].type) == f"{pages()[name]}!"
    kinds = {key: str(field.type) for key, field in fields("PageInfo").items()}
    assert kinds == {
        "hasNextPage": "Boolean!",
        "hasPreviousPage": "Boolean!",
        "startCursor": "String",
        "endCursor": "String",
    }


def test_every_page_is_asked_for_in_the_same_way() -> None:
    asked = 0
    for owner in [*objects(), *ROOTS]:
        for name, field in fields(owner).items():
            if get_named_type(field.type).name in pages():
                asked += 1
                arguments = {key: str(given.type) for key, given in field.args.items() if key in {"first", "after"}}
                assert arguments == {"first": "Int", "after": "String"}, f"{owner}.{name}"
    assert asked >= 15
    assert MAX_PAGE == 100
