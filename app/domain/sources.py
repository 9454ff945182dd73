"""What sources are told apart by."""

from enum import StrEnum


class SourceKind(StrEnum):
    """What a source holds."""

    CODEBASE = "codebase"
    DOCS = "docs"
    CONVERSATIONS = "conversations"
    ISSUES = "issues"
    WORKSPACE_LIVE = "workspace_live"
    REGULATORY = "regulatory"
    CUSTOM = "custom"
