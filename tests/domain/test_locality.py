"""D2: what is inside is told by the whole host, and what may not be sent is never sent."""

from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import MunimentError
from app.domain.locality import BARRED, host_of, locality, may_be_sent

CLASSES = ["public", "internal", "confidential", "restricted", "regulated"]

INSIDE = [
    "http://localhost/v1",
    "http://LOCALHOST:8080",
    "HTTP://LocalHost.:8080/",
    "https://127.0.0.1",
    "http://127.0.0.1:1/v1/",
    "http://127.255.255.254/",
    "http://[::1]/",
    "http://[::1]:8080/rerank",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]:80/",
    "http://[::FFFF:7F00:1]/",
]

OUTSIDE = [
    "https://api.example.com/v1",
    "http://localhost.evil.com/",
    "http://localhost.localdomain/",
    "http://evil.com/localhost",
    "http://evil.localhost/",
    "http://notlocalhost/",
    "http://localhost-evil.com/",
    "http://127.0.0.1.nip.io/",
    "http://127.0.0.1.evil.com/",
    "http://x.127.0.0.1/",
    "http://1127.0.0.1/",
    "http://128.0.0.1/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://[::2]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    # Read as this machine by some resolvers, so by nobody here.
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.0.01/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/",
    "http://xn--lcalhost-54a.com/",
]

UNREADABLE = [
    "",
    "localhost",
    "localhost:8080",
    "//localhost",
    "file:///etc/passwd",
    "ftp://localhost/",
    "unix:///run/socket",
    "http://",
    "http:///path",
    "http://:8080/",
    "http://localhost:port/",
    "http://localhost:99999/",
    "http://localhost@evil.com/",
    "http://evil.com@localhost/",
    "http://user:secret@localhost/",
    "http://localhost\\@evil.com/",
    "http://evil.com\\localhost/",
    "http://evil.com#@localhost/",
    "http://evil.com?@localhost/",
    "http://localhost/?key=1",
    "http://localhost/#part",
    "http://local\thost/",
    "http://local\nhost/",
    " http://localhost/",
    "http://localhost /",
    "http://localhost%00.evil.com/",
    "http://localhost%2eevil.com/",
    "http://ⓛocalhost/",
    "http://localhost\u3002evil.com/",
    "http://[::1%25eth0]/",
    "http://[::1/",
    "http://[not-an-address]/",
]


@pytest.mark.parametrize("url", INSIDE)
def test_a_loopback_host_is_inside(url):
    assert locality(url) == "in_deployment"


@pytest.mark.parametrize("url", OUTSIDE)
def test_every_other_host_is_outside(url):
    assert locality(url) == "external"
    assert locality(url, ["other.example.com", "localhost"]) == "external"
    assert locality(url, external=False) == "in_deployment"


@pytest.mark.parametrize("url", UNREADABLE)
def test_what_is_read_in_two_ways_is_refused(url):
    for external in (True, False):
        with pytest.raises(MunimentError) as refused:
            locality(url, ["localhost"], external)
        assert "secret" not in refused.value.message


@pytest.mark.parametrize("url", [*INSIDE, *OUTSIDE])
def test_the_client_that_sends_reads_the_same_host(url):
    try:
        host = httpx.URL(url).raw_host.decode()
    except httpx.InvalidURL:
        # Then nothing is sent.
        return
    assert host_of(f"http://[{host}]/" if ":" in host else f"http://{host}/") == host_of(url)


@pytest.mark.parametrize(
    ("url", "listed"),
    [
        ("https://Models.Corp.Example/v1", "models.corp.example"),
        ("https://models.corp.example:8443/v1", " Models.corp.EXAMPLE. "),
        ("http://10.0.0.7:80/", "10.0.0.7"),
        ("http://[2001:db8::1]/", "2001:0db8:0:0::1"),
        ("http://[2001:DB8::1]/", "[2001:db8::1]"),
        ("http://[::ffff:10.0.0.7]/", "10.0.0.7"),
    ],
)
def test_a_listed_host_is_inside(url, listed):
    assert locality(url) == "external"
    assert locality(url, ["another", listed]) == "in_deployment"


@pytest.mark.parametrize(
    ("url", "listed"),
    [
        ("https://evil-models.corp/", "models.corp"),
        ("https://a.models.corp/", "models.corp"),
        ("https://models.corp.evil.com/", "models.corp"),
        ("https://evil.com/models.corp", "models.corp"),
        ("http://10.0.0.70/", "10.0.0.7"),
        ("https://corp/", "*"),
        ("https://corp/", ""),
    ],
)
def test_a_list_names_whole_hosts(url, listed):
    assert locality(url, [listed]) == "external"


def test_the_classes_that_go_nowhere_by_default():
    for where in ("in_deployment", "external"):
        assert [name for name in CLASSES if may_be_sent(name, where)] == ["public", "internal"]


def test_a_policy_that_lets_everything_pass_still_keeps_two_classes_inside():
    assert [name for name in CLASSES if may_be_sent(name, "in_deployment", ())] == CLASSES
    assert [name for name in CLASSES if may_be_sent(name, "external", ())] == ["public", "internal", "regulated"]


@given(st.text(), st.sampled_from(["in_deployment", "external"]), st.sets(st.sampled_from(CLASSES)))
def test_a_class_that_nobody_knows_stays(name, where, barred):
    if name not in CLASSES:
        assert not may_be_sent(name, where, barred)


@given(st.sampled_from(CLASSES), st.sets(st.sampled_from(CLASSES)))
def test_nothing_goes_out_that_may_not_even_go_inside(name, barred):
    if may_be_sent(name, "external", barred):
        assert may_be_sent(name, "in_deployment", barred)
        assert name not in barred
    assert not may_be_sent(name, "external", barred | BARRED) or name not in BARRED


@given(st.text(max_size=30))
def test_no_text_makes_another_host_this_machine(text):
    with suppress(MunimentError):
        assert locality(f"http://{text}.example.com/") == "external"
