import socket

import pytest

from app.providers.tokens import Tokens


@pytest.fixture(scope="module")
def tokens():
    return Tokens()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
    ],
)
def test_counts_are_those_published_for_cl100k_base(tokens, text, count):
    assert tokens.count(text) == count


@pytest.mark.parametrize("marker", ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>"])
def test_markers_in_a_text_are_ordinary_text(tokens, marker):
    assert tokens.count(marker) > 1
    assert tokens.count(f"a {marker} b") >= tokens.count(marker)


def test_counts_come_in_order(tokens):
    assert tokens.count_all(["hello world", "", "hello"]) == [2, 0, 1]


@pytest.mark.parametrize("text", ["\ud800", "a\0b", "🎉" * 50, "\u0301" * 50, "a" * 200_000])
def test_no_text_fails(tokens, text):
    assert tokens.count(text) > 0


def test_nothing_is_downloaded(monkeypatch, tmp_path):
    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert Tokens().count("hello world") == 2
    assert not list(tmp_path.iterdir())
