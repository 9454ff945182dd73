"""The enumerations of the domain, as the schema shows them: it cannot carry descriptions, so they stand here."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import strawberry

from app.domain.budget import BudgetStrategy
from app.domain.chain import Outcome as ChainVerdict
from app.domain.contract import LimitationCode
from app.domain.dlp.finding import Detector as DlpDetector
from app.domain.dlp.policy import Action as DlpAction
from app.domain.dlp.policy import Classification
from app.domain.errors import Code as ErrorCode
from app.domain.grant import GranteeKind
from app.domain.memory import EpistemicStatus, TransformType
from app.domain.principal import Level as SpaceLevel
from app.domain.principal import Permission
from app.domain.replay import SENTENCES as DRIFT_SENTENCES
from app.domain.replay import Drift as DriftType
from app.domain.replay import ReplayVerdict
from app.domain.selection import Reason as ExclusionType
from app.domain.selection import Relation
from app.domain.sources import SourceKind
from app.domain.trace import Kind as CandidateKind
from app.evidence.staleness import MovementKind as Movement
from app.evidence.trace import Outcome as ItemOutcome
from app.gateway.calls import CallOutcome as ModelCallOutcome
from app.gateway.link import LinkOutcome as ContextLink
from app.history.rectangles import Kind as FactKind
from app.ingestion.intake import Became as IngestOutcome
from app.ingestion.jobs import JobKind, JobState

__all__ = [
    "BudgetStrategy",
    "CandidateKind",
    "ChainVerdict",
    "Classification",
    "ContextLink",
    "DlpAction",
    "DlpDetector",
    "DriftType",
    "EpistemicStatus",
    "ErrorCode",
    "ExclusionType",
    "FactKind",
    "GranteeKind",
    "IngestOutcome",
    "ItemOutcome",
    "JobKind",
    "JobState",
    "LimitationCode",
    "ModelCallOutcome",
    "Movement",
    "Permission",
    "Relation",
    "ReplayAgainst",
    "ReplayVerdict",
    "SourceKind",
    "SpaceLevel",
    "TransformType",
]


def _describe(enumeration: type[Enum], name: str, description: str, values: Mapping[Any, str]) -> None:
    """Show a domain enumeration; a test fails when a value has no sentence."""
    strawberry.enum(enumeration, name=name, description=description)
    for value in enumeration.__strawberry_definition__.values:  # type: ignore[attr-defined]
        value.description = values.get(enumeration(value.value))


_describe(
    ErrorCode,
    "ErrorCode",
    "Every value that `extensions.code` of an error can have.",
    {
        ErrorCode.UNAUTHENTICATED: "There is no credential, or it is not believed.",
        ErrorCode.FORBIDDEN: "The credential is good; what it may do does not include this.",
        ErrorCode.BAD_USER_INPUT: "The document, a variable or an input cannot be accepted; `field` says which.",
        ErrorCode.SPACE_NOT_FOUND: "The space is unknown, malformed or not the caller's to see.",
        ErrorCode.ATTRIBUTION_NOT_FOUND: "The record is unknown, malformed or not the caller's to see.",
        ErrorCode.NOT_FOUND: "What the id or name stands for is unknown, or not the caller's to see.",
        ErrorCode.CONFLICT: "Somebody else changed the same thing meanwhile.",
        ErrorCode.ATTRIBUTION_FAILED: "The evidence could not be stored, so nothing was delivered.",
        ErrorCode.SEARCH_UNAVAILABLE: "The database cannot be reached or cannot search.",
        ErrorCode.RATE_LIMITED: "Too many calls in the last minute, or at once; `retryAfterMs` says when to try again.",
        ErrorCode.QUERY_TOO_COMPLEX: "The document asks for more than one request may; `measure` says of what.",
        ErrorCode.PERSISTED_QUERY_NOT_FOUND: "No persisted operation has this id.",
        ErrorCode.INTERNAL: "A fault of the server; `requestId` finds it in the log.",
    },
)
_describe(
    Relation,
    "Relation",
    "How appended code belongs to the passage that it was appended for.",
    {
        Relation.CALLS: "The passage calls it.",
        Relation.CALLED_BY: "It calls the passage.",
        Relation.TESTED_BY: "It tests the passage.",
    },
)
_describe(
    BudgetStrategy,
    "BudgetStrategy",
    "How passages are cut to the token budget. The ranking is never touched.",
    {
        BudgetStrategy.DROP_LOWEST: "Drops from the lowest score up until the rest fits.",
        BudgetStrategy.PACK: "Goes down the ranking and takes whatever still fits.",
        BudgetStrategy.KEEP_FIRST: "As DROP_LOWEST, except that the best passage always stays.",
    },
)
_describe(
    ChainVerdict,
    "ChainVerdict",
    "What a check of the evidence chain found.",
    {
        ChainVerdict.VALID: "Every record fits its MAC and its predecessor, and the recorded head is reached.",
        ChainVerdict.TAMPERED: "A record was altered, moved or removed.",
        ChainVerdict.TRUNCATED: "The end is missing: the chain stops before its recorded head.",
        ChainVerdict.FORKED: "Two authentic records claim one place.",
        ChainVerdict.UNVERIFIABLE: "A key that records were made with is missing.",
    },
)
_describe(
    Classification,
    "Classification",
    "How freely the texts of a source may be read. It decides what may be sent to which endpoint.",
    {
        Classification.PUBLIC: "By everyone.",
        Classification.INTERNAL: "Within the organisation.",
        Classification.CONFIDENTIAL: "By few; never sent outside the deployment.",
        Classification.RESTRICTED: "By those who must; never sent outside the deployment.",
        Classification.REGULATED: "As the law says.",
    },
)
_describe(
    SourceKind,
    "SourceKind",
    "What a source holds.",
    {
        SourceKind.CODEBASE: "Source code.",
        SourceKind.DOCS: "Documents written for readers.",
        SourceKind.CONVERSATIONS: "What people wrote to each other.",
        SourceKind.ISSUES: "Tickets and their discussions.",
        SourceKind.WORKSPACE_LIVE: "What is being worked on.",
        SourceKind.REGULATORY: "Laws, norms and policies.",
        SourceKind.CUSTOM: "Anything else.",
    },
)
_describe(
    IngestOutcome,
    "IngestOutcome",
    "What became of a document that was given in a call.",
    {
        IngestOutcome.CREATED: "It is new.",
        IngestOutcome.CHANGED: "It is believed to be something else now.",
        IngestOutcome.UNCHANGED: "It was believed just so already.",
        IngestOutcome.FAILED: "It could not be read; nothing of it was taken.",
    },
)
_describe(
    JobKind,
    "JobKind",
    "What a job does.",
    {JobKind.SYNC_SOURCE: "Reads a source again from its place."},
)
_describe(
    JobState,
    "JobState",
    "Where a job stands.",
    {
        JobState.WAITING: "It waits for a worker, for the first time or after a try that failed.",
        JobState.RUNNING: "A worker is at it.",
        JobState.DONE: "It is done.",
        JobState.PARKED: "It failed too often, or for good: people have to look at it.",
    },
)
_describe(
    ExclusionType,
    "ExclusionType",
    "Why something was left out of an answer.",
    {
        ExclusionType.PROVIDER_SCOPE: "The credential does not admit the provider.",
        ExclusionType.NO_RESULTS: "The search found nothing.",
        ExclusionType.CALLER_FILTER: "The request's own filters set it aside.",
        ExclusionType.NOT_YET_VALID: "It matches, and holds only after `validAt`; a count of documents.",
        ExclusionType.EXPIRED: "It matches, and no longer held at `validAt`; a count of documents.",
        ExclusionType.SUPERSEDED: (
            "It matched, and a later belief had taken its place at `knownAt`; a count of documents."
        ),
        ExclusionType.MIN_SCORE: "Its score was below `minScore`.",
        ExclusionType.PER_LEVEL_CAP: "Enough passages from the same level of the space tree ranked higher.",
        ExclusionType.PER_DOCUMENT_CAP: "Enough passages of the same document ranked higher.",
        ExclusionType.DIVERSITY: "It says much the same as something that ranked higher.",
        ExclusionType.TOP_K: "More passages ranked higher than were asked for.",
        ExclusionType.TOKEN_BUDGET: "It did not fit into the token budget.",
        ExclusionType.DUPLICATE: "The same text was delivered already.",
        ExclusionType.DLP_BLOCKED: "The organisation's data-loss policy bars it from delivery.",
        ExclusionType.MISSING_ACCESS_POLICY: "Its source carries no access policy.",
        ExclusionType.STALE_INDEX: "It belongs to an index version that is no longer current.",
    },
)
_describe(
    LimitationCode,
    "LimitationCode",
    "What a careful reader of an answer should know about it.",
    {
        LimitationCode.NO_CONTEXT: "Nothing is delivered.",
        LimitationCode.PROVIDER_SCOPE_APPLIED: "The credential admits some providers only.",
        LimitationCode.SCOPE_APPLIED: "Only what the caller may read was searched. Always present.",
        LimitationCode.MISSING_SYNC_TIMESTAMP: "A source of the answer was never synchronised to its end.",
        LimitationCode.MISSING_SOURCE_ACCESS_POLICY: "A source of the answer carries no access policy.",
        LimitationCode.TEXT_ONLY: "Only words were compared, no meanings.",
        LimitationCode.TEXT_QUERY_EMPTY: "The question holds no word that can be searched for.",
        LimitationCode.CANDIDATES_TRUNCATED: "There were more candidates than are looked at.",
        LimitationCode.STALE_EMBEDDINGS: "Some candidates have no embedding of the current model.",
        LimitationCode.DEGRADED: "An optional stage was left out.",
        LimitationCode.BUDGET_TOO_SMALL: "The token budget kept something out; `count` would have kept more.",
        LimitationCode.HISTORICAL_READ: "The answer is as of a moment in the past.",
    },
)
_describe(
    SpaceLevel,
    "SpaceLevel",
    "The level of a space in the organisation's tree.",
    {
        SpaceLevel.ORGANISATION: "The root: what all share.",
        SpaceLevel.BUSINESS_UNIT: "A business unit.",
        SpaceLevel.DEPARTMENT: "A department.",
        SpaceLevel.GROUP: "A group of teams or people.",
        SpaceLevel.TEAM: "A team.",
        SpaceLevel.PROJECT: "A project.",
        SpaceLevel.SUBPROJECT: "A part of a project.",
        SpaceLevel.PERSONAL: "One person's own space.",
    },
)
_describe(
    EpistemicStatus,
    "EpistemicStatus",
    "How something came to be known.",
    {
        EpistemicStatus.OBSERVED: "It was seen to be so.",
        EpistemicStatus.TOLD: "Somebody said so.",
        EpistemicStatus.INFERRED: "It follows from something else.",
        EpistemicStatus.ASSUMED: "It is taken to be so until told otherwise.",
    },
)
_describe(
    TransformType,
    "TransformType",
    "How a text came to be.",
    {
        TransformType.MANUAL: "A person wrote it.",
        TransformType.INGEST: "It was read from a source.",
        TransformType.DREAM_SYNTHESIS: "It was put together from other memories in the background.",
        TransformType.EVOLVE: "It was made from an earlier version of itself.",
        TransformType.AGENT_WRITE: "An agent wrote it.",
    },
)
_describe(
    FactKind,
    "FactKind",
    "What a history is of.",
    {
        FactKind.DOCUMENT: "A document of a source.",
        FactKind.MEMORY: "A memory of a subject, a group or a space.",
        FactKind.MEMBERSHIP: "One subject in one group.",
        FactKind.GRANT: "One permission of one principal on one space.",
    },
)
_describe(
    Permission,
    "Permission",
    "What can be granted on a space; it holds there and below.",
    {
        Permission.SEARCH: "`context:space:search`: what is kept in the space counts in retrievals.",
        Permission.READ: "`context:space:read`: documents, memories and histories can be read by their ids.",
        Permission.WRITE: "`context:space:write`: documents can be changed, sources and spaces made.",
        Permission.ADMIN: "`context:space:admin`: spaces, lenses, weights, grants; accepting and forgetting.",
        Permission.MEMORY_WRITE: "`context:memory:write`: memories, subjects and groups can be made and changed.",
        Permission.AUDIT_READ: "`audit:read`: the records of others; on the organisation's own space the chain too.",
        Permission.ORG_ADMIN: "`org:admin`: the organisation as a whole; only on its own space.",
    },
)
_describe(
    GranteeKind,
    "GranteeKind",
    "Whom something is granted to.",
    {
        GranteeKind.PERSON: "A person or program, by the subject of its tokens.",
        GranteeKind.GROUP: "Whoever's token names the group in its `groups` claim.",
        GranteeKind.KEY: "An API key, by its id.",
    },
)
_describe(
    CandidateKind,
    "CandidateKind",
    "What a candidate of a retrieval is.",
    {
        CandidateKind.PASSAGE: "A chunk that a leg of the search named.",
        CandidateKind.RELATED: "Code that was appended for a passage.",
        CandidateKind.MEMORY: "A memory of the subject or of a space.",
        CandidateKind.GROUP_MEMORY: "A memory of a group.",
    },
)
_describe(
    ItemOutcome,
    "ItemOutcome",
    "What became of an item in one retrieval.",
    {
        ItemOutcome.DELIVERED: "It is in the answer.",
        ItemOutcome.EXCLUDED: "It was a candidate, and a stage removed it.",
        ItemOutcome.NEVER_A_CANDIDATE: "The search did not name it, as far as the caller may know.",
    },
)
_describe(
    ContextLink,
    "ContextLink",
    "What came of joining a model call to the retrieval that it named.",
    {
        ContextLink.LINKED: "The link is in the evidence.",
        ContextLink.NOT_FOUND: "The organisation has no such retrieval.",
        ContextLink.DENIED: "The retrieval is another's, and the caller no auditor.",
        ContextLink.ERROR: "The records could not be read or written.",
    },
)
_describe(
    ModelCallOutcome,
    "ModelCallOutcome",
    "How a model call ended.",
    {
        ModelCallOutcome.COMPLETED: "The whole answer went on to the caller, whatever its status.",
        ModelCallOutcome.CUT: "The provider broke off in the middle of its answer.",
        ModelCallOutcome.FAILED: "No answer came from the provider.",
        ModelCallOutcome.TIMED_OUT: "The provider did not answer in time.",
        ModelCallOutcome.HUNG_UP: "The caller hung up.",
        ModelCallOutcome.REFUSED: "The call could not be passed on.",
        ModelCallOutcome.INTERRUPTED: "The server was stopped meanwhile.",
    },
)


class ReplayAgainst(Enum):
    """What a retrieval that is made again is compared with."""

    RECORDED = "RECORDED"
    NOW = "NOW"


_describe(
    ReplayAgainst,
    "ReplayAgainst",
    "At which clocks, and with whose permissions, a retrieval is made again.",
    {
        ReplayAgainst.RECORDED: "Its own clocks, within what was searched then.",
        ReplayAgainst.NOW: "Today's, within what the same caller may search today; an `asOf` that was given stays.",
    },
)
_describe(
    ReplayVerdict,
    "ReplayVerdict",
    "Whether a retrieval that is made again comes out as it was recorded.",
    {
        ReplayVerdict.REPRODUCED: "The same items, texts, order and, with a trace, scores and reasons, bit for bit.",
        ReplayVerdict.DRIFTED: "Something is otherwise; `reasons` say why.",
    },
)
_describe(DriftType, "DriftType", "Why a retrieval does not come out as it was recorded.", DRIFT_SENTENCES)
_describe(
    Movement,
    "Movement",
    "What became of an item that was delivered.",
    {
        Movement.CORRECTED: "It is believed now that it said something else at the point of time that was read.",
        Movement.RETRACTED: "It is no longer believed to have held then.",
        Movement.CHANGED: "It held then, and by a later write no longer does.",
        Movement.ERASED: "It was erased for good.",
        Movement.SOURCE_REMOVED: "The source that it came from was removed.",
    },
)
_describe(
    DlpAction,
    "DlpAction",
    "What becomes of texts of a class in which detectors find something.",
    {
        DlpAction.ALLOW: "Given and searched as they are. Endpoints are sent them redacted all the same.",
        DlpAction.REDACT: "What is found is masked, in what is searched and in what is given; offsets stay.",
        DlpAction.DROP: "The passage is not given. Texts of the class are sent to no endpoint.",
        DlpAction.BLOCK_SOURCE: "Nothing of the source is given. Texts of the class are sent to no endpoint.",
    },
)
_describe(
    DlpDetector,
    "DlpDetector",
    "What is looked for in texts.",
    {
        DlpDetector.IP: "IP addresses.",
        DlpDetector.PHONE: "Telephone numbers.",
        DlpDetector.EMAIL: "E-mail addresses.",
        DlpDetector.NATIONAL_ID: "National identity numbers, by their check digits.",
        DlpDetector.IBAN: "Bank accounts, by their check digits.",
        DlpDetector.CARD: "Payment cards, by their check digit.",
        DlpDetector.SECRET: "Keys of clouds and services, tokens, private keys, passwords that are assigned.",
    },
)
