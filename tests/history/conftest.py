"""The API for tests of histories."""

from tests.memory.conftest import memory
from tests.schema.conftest import api

__all__ = ["api", "memory"]
