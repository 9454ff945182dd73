"""The MAC of one key agrees with the standard library's, whatever the lengths."""

import hmac

from hypothesis import given
from hypothesis import strategies as st

from app.domain.mac import MacKey


@given(st.binary(max_size=200), st.lists(st.binary(max_size=300), max_size=4))
def test_it_is_hmac_sha256(key: bytes, messages: list[bytes]) -> None:
    keyed = MacKey(key)
    assert [keyed.digest(message) for message in messages] == [
        hmac.digest(key, message, "sha256") for message in messages
    ]
