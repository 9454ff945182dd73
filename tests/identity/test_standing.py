"""What is remembered of tokens that stood, for as long as it counts."""

from uuid import uuid4

from app.domain.principal import Token
from app.identity import standing
from app.identity.standing import Standing

ANN, TOKEN = uuid4(), Token("one")


def test_a_token_counts_for_a_while_after_it_was_looked_up() -> None:
    now = [0.0]
    seen = Standing(lambda: now[0])
    assert not seen.lately(ANN, TOKEN)
    seen.found(ANN, TOKEN)
    now[0] = standing.WHILE - 0.001
    assert seen.lately(ANN, TOKEN)
    assert not seen.lately(ANN, Token("another"))
    assert not seen.lately(uuid4(), TOKEN)
    now[0] = standing.WHILE
    assert not seen.lately(ANN, TOKEN)


def test_one_that_was_found_revoked_counts_no_more() -> None:
    seen = Standing()
    seen.found(ANN, TOKEN)
    seen.forget(ANN, TOKEN)
    seen.forget(ANN, TOKEN)
    assert not seen.lately(ANN, TOKEN)


def test_the_newest_are_kept() -> None:
    seen = Standing()
    tokens = [Token(str(number)) for number in range(standing.MOST + 2)]
    seen.found(ANN, tokens[0])
    seen.found(ANN, tokens[1])
    seen.found(ANN, tokens[0])
    for token in tokens[2:]:
        seen.found(ANN, token)
    assert not seen.lately(ANN, tokens[1])
    assert not seen.lately(ANN, tokens[0])
    assert seen.lately(ANN, tokens[2])
