"""D2. Whether an endpoint lies inside the deployment, and which classes of text may be sent to it.

What is not plainly inside is external: a spelling that some resolver might read as this machine counts for nothing.
"""

from collections.abc import Collection
from ipaddress import IPv6Address, ip_address
from typing import Literal
from urllib.parse import urlsplit

from app.domain.errors import MunimentError, bad_input

Locality = Literal["in_deployment", "external"]

#: Classes whose data-loss action is `drop` or `block_source` until an organisation says otherwise: sent to no endpoint.
BARRED = frozenset({"confidential", "restricted", "regulated"})
#: Classes that never leave the deployment, whatever the policy allows.
INSIDE_ONLY = frozenset({"confidential", "restricted"})
_CLASSES = BARRED | {"public", "internal"}

_LOOPBACK_NAME = "localhost"


def locality(url: str, internal_hosts: Collection[str] = (), external: bool = True) -> Locality:
    """`internal_hosts` are host names or addresses, without ports. `external` False: no endpoint leaves the deployment.

    Names are compared whole, never by suffix, and no name is resolved: only `localhost` itself is this machine.
    """
    host = host_of(url)
    if not external or host in {_plain(name) for name in internal_hosts}:
        return "in_deployment"
    return "in_deployment" if host == _LOOPBACK_NAME or _is_loopback(host) else "external"


def may_be_sent(classification: str, where: Locality, barred: Collection[str] = BARRED) -> bool:
    """Whether a text of that class may go to an endpoint there. `barred`: the classes that the policy holds back.

    A class that nobody knows stays.
    """
    if classification not in _CLASSES or classification in barred:
        return False
    return where == "in_deployment" or classification not in INSIDE_ONLY


def host_of(url: str) -> str:
    """The host of an endpoint's URL, in its one plain spelling. `BAD_USER_INPUT` for what is no plain URL: another
    scheme than http or https, credentials, a query, a fragment, a backslash, blanks, control characters. Readers of
    URLs differ on those, and who decides where a text may go must read the URL as the one who sends it does."""
    if not url.isascii() or not url.isprintable() or any(sign in url for sign in " \\@?#%"):
        raise _unreadable()
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _unreadable() from None
    if parts.scheme not in {"http", "https"} or not host:
        raise _unreadable()
    return _plain(host)


def _unreadable() -> MunimentError:
    # The URL stays out of the sentence: it may hold a password.
    return bad_input("write an endpoint as http://host:port/path or https://…, without credentials, query or fragment")


def _plain(host: str) -> str:
    """Lower case, without the brackets of an IPv6 address or the dot of a name's root; an address in its short form."""
    host = host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")
    try:
        address = ip_address(host)
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
