"""The cells of the benchmark: a data set, an encoder and a number of labels.

Official splits: train (dev for CoSQA) teaches, test tests. Cranfield has 225 test queries alone: 150 of them,
by hash, teach and the others test. Of the standard library's docstrings 1,200, by hash, test. Labels are drawn
from the teaching queries by a seeded hash; ``all`` is all of them, but no more than 2,500.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from askew import read_dataset
from askew.data import Dataset, TwoWayFolds, hash_order
from askew.estimators import Labels, Mining
from askew.formats import read_split
from askew.operators import Identity
from askew.workflows.stdlib_pairs import stdlib_dataset

FOLDS = 5
SIZES = (32, 64, 128, 256, 512)
_MOST = 2_500
_TEST_SALT = 1_000_003  # no seed that labels are drawn by
_STDLIB = "stdlib"


@dataclass(frozen=True)
class Source:
    """A data set with one encoder's embeddings, parted into teaching and testing queries.

    `pool` is about how many queries teach; `tested` is how many test where a split has to be parted by hash;
    `sizes` are the numbers of labels.
    """

    folder: str
    encoder: str
    teaching: str
    pool: int
    tested: int | None = None
    sizes: tuple[int, ...] = SIZES

    @property
    def name(self) -> str:
        return f"{self.folder}/{self.encoder}"


SOURCES = (
    Source("scifact", "minilm-l6", "train", 809),
    Source("cosqa", "wordllama-256", "dev", 500),
    Source("nfcorpus-pp", "wordllama-256", "train", 2563),
    Source(_STDLIB, "wordllama-256", "", 4022, tested=1200, sizes=(*SIZES, 600, 2000)),
    Source("scifact", "wordllama-256", "train", 809),
    Source("cosqa", "minilm-l6", "dev", 500),
    Source("nfcorpus-pp", "minilm-l6", "train", 2563),
    Source("cranfield", "minilm-l6", "test", 150, tested=75),
)


@dataclass(frozen=True)
class Cell:
    """One row of the tables; `labels` is None for all of them."""

    source: Source
    labels: int | None

    @property
    def name(self) -> str:
        return f"{self.source.name}@{'all' if self.labels is None else self.labels}"


def chosen_cells(patterns: Iterable[str]) -> list[Cell]:
    """Cells whose name, or whose source's name, fits one of some patterns such as ``cosqa/*@64``."""
    wanted = list(patterns)
    every = [Cell(source, size) for source in SOURCES for size in (*_sizes(source), None)]
    found = [cell for cell in every for name in [(cell.name, cell.source.name)] if not wanted or _fits(name, wanted)]
    if not found:
        raise SystemExit(f"no cell fits {' '.join(wanted)}; there are {' '.join(cell.name for cell in every)}")
    return found


def _sizes(source: Source) -> Iterator[int]:
    return (size for size in source.sizes if size < source.pool)


def _fits(names: tuple[str, str], patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


@dataclass(frozen=True, eq=False)
class Task:
    """A cell with its labels drawn: what every system gets.

    Attributes:
        cell: what it is.
        seed: of the draw, of the folds, and of whatever a system draws.
        train: the labelled queries.
        test: the testing queries.
    """

    cell: Cell
    seed: int
    train: Dataset
    test: Dataset

    @cached_property
    def labels(self) -> Labels:
        """The labels with their folds, as `askew.fit` makes them: every system is tuned on the same folds."""
        folds = TwoWayFolds.build(self.train, count=FOLDS, seed=self.seed)
        prior = Identity(self.train.queries.dim)
        return Labels.build(self.train, folds, prior=prior, mining=Mining(count=0), seed=self.seed)

    @cached_property
    def documents(self) -> npt.NDArray[np.float32]:
        """(m, d) unit rows."""
        norms = self.train.documents.norms
        matrix = np.asarray(self.train.documents.matrix, dtype=np.float64)
        return np.asarray(matrix / np.where(norms > 0, norms, 1.0)[:, None], dtype=np.float32)


def load_task(data: Path, cell: Cell, seed: int) -> Task:
    """Read a cell and draw its labels."""
    train, test = read_source(data, cell.source)
    wanted = min(_MOST, len(train.labelled)) if cell.labels is None else cell.labels
    drawn = hash_order(train.labelled, seed=seed)[:wanted]
    return Task(cell, seed, train.only(drawn), test)


@lru_cache(maxsize=1)
def read_source(data: Path, source: Source) -> tuple[Dataset, Dataset]:
    """What teaches and what tests; queries without a relevant document in the corpus do neither."""
    if source.folder == _STDLIB:
        whole = stdlib_dataset()
    else:
        whole = read_dataset(data / source.folder, split=source.teaching, encoder=source.encoder, texts=False)
    if source.tested is not None:
        order = hash_order(whole.labelled, seed=_TEST_SALT)
        return whole.only(order[source.tested :]), whole.only(order[: source.tested])
    tested = Dataset(whole.queries, whole.documents, read_split(data / source.folder, "test"), name=whole.name)
    return whole, tested.only(tested.labelled)
