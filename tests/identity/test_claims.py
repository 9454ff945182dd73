"""What issuers call things: claims within claims, claims named by a URL, and what cannot be believed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from app.assembly.services import services
from app.domain.errors import Code, MunimentError
from app.domain.principal import principal_id
from app.identity.claims import ClaimNames
from app.identity.tokens import TokenVerifier
from app.settings import Settings
from tests.identity.homes import fresh_keys
from tests.identity.test_tokens import ORGANISATION, PEM, assert_refused, plain, signed, token

KEYCLOAK = "groups=realm_access.roles"
AUTH0 = "organisation=https://acme.example/org,groups=https://acme.example/app.roles,client=azp"


def verifier(names: str = "", organisation: UUID | None = None, **options: Any) -> TokenVerifier:
    claims = ClaimNames.parse(names)
    return TokenVerifier.of(PEM, "EdDSA", "issuer", "audience", claims=claims, organisation=organisation, **options)


def groups(*names: str, organisation: UUID = ORGANISATION) -> tuple[UUID, ...]:
    return tuple(principal_id(organisation, "group", name) for name in names)


def test_keycloak() -> None:
    given = token(org=None, realm_access={"roles": ["engineers", "offline_access"]}, groups=["not-these"], azp="app")
    principal = verifier(KEYCLOAK, ORGANISATION).principal(given, {})
    assert principal.organisation == ORGANISATION
    assert principal.groups == groups("engineers", "offline_access")
    assert principal.client.id == "app"


def test_auth0() -> None:
    given = token(
        org=None, **{"https://acme.example/org": str(ORGANISATION), "https://acme.example/app.roles": ["engineers"]}
    )
    principal = verifier(AUTH0).principal(given, {})
    assert principal.organisation == ORGANISATION
    assert principal.groups == groups("engineers")


def test_the_organisation_of_the_settings_counts_whatever_the_token_says() -> None:
    ours = uuid4()
    principal = verifier("", ours).principal(token(org=str(ORGANISATION), groups=["a"]), {})
    assert principal.organisation == ours
    assert principal.groups == groups("a", organisation=ours)


def test_the_subject_may_be_another_claim() -> None:
    principal = verifier("subject=email").principal(token(email="ada@acme.example"), {})
    assert principal.external_id == "ada@acme.example"
    assert_refused(token(), verifier("subject=email"))
    assert_refused(token(email=5), verifier("subject=email"))


@pytest.mark.parametrize("value", ["engineers", 5, [5], [""], [None], [["a"]], {"a": "b"}, True], ids=ascii)
def test_groups_that_are_none(value: Any) -> None:
    assert_refused(token(realm_access={"roles": value}), verifier(KEYCLOAK))


@pytest.mark.parametrize("holder", [None, {}, {"other": 1}, [], "roles", 5], ids=ascii)
def test_no_groups(holder: Any) -> None:
    assert verifier(KEYCLOAK).principal(token(realm_access=holder, groups=["x"]), {}).groups == ()


@pytest.mark.parametrize("text", ["groups", "groups=", "=x", "people=x", "groups=a,groups=b", "groups=a;subject=b=,x"])
def test_claims_that_are_not_written_so(text: str) -> None:
    with pytest.raises(MunimentError) as refused:
        ClaimNames.parse(text)
    assert refused.value.code is Code.BAD_USER_INPUT
    with pytest.raises(ValueError, match="name=claim"):
        Settings(jwt_claims=text)


def test_the_longest_name_goes_first() -> None:
    names = ClaimNames.parse("groups=a.b.c")
    assert names.read({"a": {"b": {"c": 1}}}, "groups") == 1
    assert names.read({"a": {"b.c": 2, "b": {"c": 1}}}, "groups") == 2
    assert names.read({"a.b": {"c": 3}, "a": {"b": {"c": 1}}}, "groups") == 3
    assert names.read({"a.b.c": 4, "a.b": {"c": 3}}, "groups") == 4


@pytest.mark.parametrize("kind", ["logout+jwt", "dpop+jwt", "JOSE", "", 5, None, ["JWT"]], ids=ascii)
def test_other_kinds_of_tokens_of_the_same_issuer(kind: Any) -> None:
    assert_refused(signed({"alg": "EdDSA", "typ": kind}, plain()))


@pytest.mark.parametrize("kind", ["JWT", "jwt", "at+jwt", "application/at+jwt"])
def test_kinds_that_say_who_asks(kind: str) -> None:
    assert verifier().principal(token(headers={"typ": kind}), {})


def test_clocks_may_differ_as_far_as_it_is_set() -> None:
    ahead = token(nbf=datetime.now(UTC) + timedelta(seconds=60), iat=datetime.now(UTC) + timedelta(seconds=60))
    assert_refused(ahead, verifier())
    assert verifier(leeway=120).principal(ahead, {})
    late = token(exp=datetime.now(UTC) - timedelta(seconds=2))
    assert verifier().principal(late, {})
    assert_refused(late, verifier(leeway=0))


@pytest.mark.parametrize(
    "value",
    [
        "http://id.example/jwks",
        "http://10.0.0.1/jwks",
        "https://user:pw@id.example/jwks",
        "https://id.example/a?b=c",
        "ftp://x/y",
    ],
)
def test_addresses_that_keys_are_not_taken_from(value: str) -> None:
    with pytest.raises(ValueError, match=r"TLS|endpoint"):
        Settings(jwt_jwks=value)


@pytest.mark.parametrize(
    "value", ["https://id.example/jwks", "http://127.0.0.1:9/jwks", "http://localhost/jwks", "keys.json"]
)
def test_addresses_that_they_are_taken_from(value: str) -> None:
    assert Settings(jwt_jwks=value).jwt_jwks == value


async def test_a_server_starts_while_its_issuer_is_away(installation: Any, tmp_path: Any) -> None:
    settings = Settings(**fresh_keys(tmp_path), embedder="none", jwt_jwks="http://127.0.0.1:9/jwks", pool_size=2)
    async with services(settings, installation) as own:
        assert own.development is None
        with pytest.raises(MunimentError) as failed:
            await own.credentials.principal(token(), {})
        assert failed.value.code is Code.SEARCH_UNAVAILABLE
