"""HMAC-SHA-256 (RFC 2104, FIPS 180-4) of many messages under one key."""

import hashlib

_BLOCK_BYTES = 64
_INNER_PAD = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD = bytes(byte ^ 0x5C for byte in range(256))


class MacKey:
    """HMAC-SHA-256 (RFC 2104) under one key. Both padded halves of the key are hashed once, not at each message: on
    short messages that is most of the work."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        if len(key) > _BLOCK_BYTES:
            key = hashlib.sha256(key).digest()
        padded = key.ljust(_BLOCK_BYTES, b"\0")
        self._inner = hashlib.sha256(padded.translate(_INNER_PAD))
        self._outer = hashlib.sha256(padded.translate(_OUTER_PAD))

    def digest(self, message: bytes) -> bytes:
        """The 32-byte MAC of the message."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()
