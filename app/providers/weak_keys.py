"""Why a secret key must not be used: too short, not random, or printed where anyone can read it."""

import hashlib
from itertools import pairwise

MIN_BYTES = 32
MAX_BYTES = 1024

# 32 random bytes hold 30 different values; 16 or fewer come about once in 10^10 keys.
_MIN_DISTINCT = 17

#: First 8 bytes of SHA-256 of secrets in public test suites: Wycheproof's HMAC-SHA-256 and JWS vectors (Apache-2.0),
#: RFC 7515 A.1, RFC 7520 3.5, RFC 8032 7.1. Those of RFC 4231 and RFC 5869 fail the other rules.
_FINGERPRINTS = bytes.fromhex(
    """
    0194373cb883bc23 02878801ee84b64d 02ac15eccc09e384 070030b32c96b088 0c8a0168df0b863e 0e3ccf83432b98d8
    10a1056dd33a5a57 1d80de1a40bf9441 1f32b3422ad6e060 227bb0f282d52426 2505ba2ff0223515 28024a74943422cc
    2b19da049f700f2a 2b8c8f581da335a8 2c0b7289f35bc4d6 2c71b9214eeb8445 2d5ca41192a76f23 3067d321d9f672fa
    319b33a8fb46c2ad 3215784f31edb65a 343c4d3fb2fea91a 3d2d9682cdba5296 41f0bb16eae272c5 559798dddb53aed7
    576804eb2bb76d55 584e0575c348e56c 5b8cd3c6edabf771 62a0006378b409d7 630dcd2966c43366 636038f074e98a97
    644d50ab64864c20 64b8eb8375d4e481 66687aadf862bd77 7294675f9e577ba1 729bb23705453d7c 72d44a802dfb53cd
    73ec74458059c70c 743de54879996dd1 7c925ae6a802a69d 8089b88e609d6a9f 8648b55f5b488eba 87f77f59b52c2b85
    918a483206abfc92 94c4ea940aa8021f 9e8261b6d7a797ad a053770aeae5bffd a352ddb6453cf4cc a9556b496d624734
    ac979f3262e58faa ae05d598d90ab32a aead2ad37c8ce93e b1373e0d9ac378a9 b35f8c0cc28d3ac0 bd56a5e214235c9e
    be8af4996725ef56 c2a51903e53b68fa c495d158f66aaeed c5377e7e7dd17980 c8ecc9361a05e285 cadf4b34ded2531c
    cbc012506c2940a2 cff4e0109d2806b0 d01e48f4a914a455 d37a4d91ad52749b d8eca0cca720d33b db7bb1a0a7cc6160
    e01fddf11ff3284a e45b1fa69c6276e6 e80971f64bc9c448 f553775667f4776a
    """
)
_PUBLISHED = frozenset(_FINGERPRINTS[start : start + 8] for start in range(0, len(_FINGERPRINTS), 8))

_PASSWORDS = ("", "admin", "changeme", "default", "key", "muniment", "password", "secret", "test")
_HASHED_PASSWORDS = frozenset(hashlib.sha256(word.encode()).digest() for word in _PASSWORDS)


def weakness(key: bytes) -> str | None:
    """What is wrong with a key as the end of the sentence "the key …", or None. Never says anything of its bytes."""
    if len(key) < MIN_BYTES:
        return f"is shorter than {MIN_BYTES} bytes"
    if len(key) > MAX_BYTES:
        return f"is longer than {MAX_BYTES} bytes"
    if len({(after - before) % 256 for before, after in pairwise(key)}) == 1:
        return "is one byte repeated, or a plain count"
    if _is_repetition(key):
        return "is a short pattern repeated"
    if _is_text(key):
        return "is text, not random bytes"
    if len(set(key)) < _MIN_DISTINCT:
        return "holds too few different bytes to be random"
    if key in _HASHED_PASSWORDS:
        return "is the hash of a common password"
    if hashlib.sha256(key).digest()[:8] in _PUBLISHED:
        return "is printed in a public test suite"
    return None


def _is_repetition(key: bytes) -> bool:
    return any((key[:period] * (len(key) // period + 1))[: len(key)] == key for period in range(1, len(key) // 2 + 1))


def _is_text(key: bytes) -> bool:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return False
    return all(char.isprintable() or char.isspace() for char in text)
