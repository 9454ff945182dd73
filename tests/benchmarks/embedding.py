"""The embedder beside the bare model session."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np
import onnxruntime

from app.providers.embedder import minilm
from app.providers.embedder.base import THREADS
from app.providers.embedder.minilm import MAX_WORD_PIECES, MiniLM, load_tokenizer
from tests.benchmarks.measure import Row

TEXTS, TURNS = 48, 3


async def embed_texts(embedder: MiniLM, texts: Sequence[str]) -> Row:
    """Texts a second, by turns with as many bare runs of the model on as many threads."""
    tokenizer = load_tokenizer()
    tokenizer.enable_truncation(max_length=MAX_WORD_PIECES)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(minilm._packaged(minilm._MODEL_PACKAGE, minilm._MODEL_FILE)), options, providers=["CPUExecutionProvider"]
    )

    def bare(text: str) -> None:
        ids = np.asarray([tokenizer.encode(text).ids], dtype=np.int64)
        session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})

    ours = hand = 0.0
    with ThreadPoolExecutor(THREADS) as threads:
        for turn in range(TURNS):
            some = texts[turn * TEXTS : (turn + 1) * TEXTS]
            started = perf_counter()
            await embedder.embed_documents(some)
            ours += perf_counter() - started
            started = perf_counter()
            await asyncio.to_thread(lambda some=some: list(threads.map(bare, some)))
            hand += perf_counter() - started
    return Row("embed_texts", TEXTS * TURNS / ours, "texts/s", TEXTS * TURNS / hand)
