"""Measures the ranking over judged queries, through the product's own ingestion, store and retrieval.

    python -m tests.quality.ranking FOLDER [--out FILE] [--language NAME]

Every folder at or below FOLDER that holds `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` is one set. Its documents are
ingested as plain text under their titles into an organisation of its own, chunked and embedded with the packaged model.
Every judged query is asked with maxPerLevel 50, one passage a document, topK 10 and no token budget. Prints nDCG@10 of
the default ranking and of either leg alone, and their average over scifact, cranfield and cosqa (over all sets when none
of these is there). FILE gets `{"sets": {name: {"default", "vector", "text"}}, "macro": average of the default}`.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import batched
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.bootstrap import Installation, Services, services
from app.domain.document import DocumentFacts
from app.domain.temporal import Period, Portion
from app.ingestion.frequencies import refresh_frequencies
from app.ingestion.reconcile import Cut, cut_of
from app.ingestion.runner import BATCH
from app.ingestion.sources import Provider, ensure_source
from app.ingestion.store import Wanted, write_batch
from app.ingestion.prepare import Content
from app.providers.parsers.registry import parse
from app.providers.stemmer import SIMPLE
from app.retrieval.authorise import authorise
from app.retrieval.pipeline import Retriever
from app.retrieval.request import make_request
from app.settings import Settings
from app.storage import passages, search_vector
from app.storage.sources import StoredSource
from tests.fixtures.store import World, make_world
from tests.quality.metrics import Collection, load, mean, ndcg
