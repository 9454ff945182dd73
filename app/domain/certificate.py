"""The certificate of a retrieval: a compact JWS (RFC 7515, EdDSA of RFC 8037) over what its record says was given.

The same record gives the same claims, and Ed25519 the same signature: a certificate can be made again from the record.
Timings stay outside.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from app.domain.canonical import canonical

TYPE = "muniment-certificate+jws"


def claims(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a certificate of this `context_attribution` record says: ids, clocks, and the SHA-256 of each passage and
    memory in the order in which they were given."""
    return {
        "requestId": record["requestId"],
        "attributionId": record["attributionId"],
        "organisationId": record["organisationId"],
        "passages": [item["sha256"] for item in record["chunks"]],
        "memories": [item["sha256"] for item in record["memories"]],
        "validAt": record["validAt"],
        "knownAt": record["knownAt"],
        "issuedAt": record["issuedAt"],
    }


def certificate(record: Mapping[str, Any], key_id: str, sign: Callable[[bytes], bytes]) -> str:
    """The certificate of a record under the key of that id; `sign` gives its Ed25519 signature."""
    header = canonical({"alg": "EdDSA", "kid": key_id, "typ": TYPE})
    signed = f"{_base64url(header)}.{_base64url(canonical(claims(record)))}"
    return f"{signed}.{_base64url(sign(signed.encode()))}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
