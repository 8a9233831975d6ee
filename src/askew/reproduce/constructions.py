"""Sparse vectors through Signed MaxSim: how far each construction lies from the inner product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from askew.data.ragged import running_count
from askew.late import DigitCode, OneHotCode, choose_code, maxsim, sparse_documents, sparse_queries
from askew.late.codes import Code, DType
from askew.protocols import Progress
from askew.reproduce.study import Study, Table

__all__ = ["constructions"]

_SIZES = (100, 1000, 10_000, 30_522, 1_000_000, 10_000_000)
_DTYPES: tuple[DType, ...] = ("float64", "float32", "float16")
_KINDS = ("random", "neighbours")
# Entries a vector, and the width of the window from which neighbouring indices are drawn.
_ENTRIES, _WINDOW = 16, 40


def constructions(
    *,
    sizes: Sequence[int] = _SIZES,
    pairs: int = 64,
    seed: int = 0,
    named: Callable[[str], Progress] | None = None,
) -> Study:
    """Run the study.

    Args:
        sizes: how many indices there are.
        pairs: vectors on each side; every pair is scored.
        seed: of the vectors.
        named: makes a progress callback for a named piece of work.
    """
    progress = named("coding") if named else None
    rows: list[list[Any]] = []
    for step, size in enumerate(sizes):
        drawn = {
            kind: _vectors(size, pairs, seed, neighbours=kind == "neighbours") for kind in ("random", "neighbours")
        }
        for label, code in _codes(size):
            rows.extend(_row(label, size, code, dtype, drawn) for dtype in _DTYPES)
        rows.extend(_row("chosen", size, choose_code(size, dtype), dtype, drawn) for dtype in _DTYPES)
        if progress:
            progress(step + 1, len(sizes))
    head = ("construction", "dimensions", "indices", "type", "error, random", "error, neighbours", "bound")
    return Study(
        name="constructions",
        title="Inner products of sparse vectors through Signed MaxSim",
        settings={"vectors a side": pairs, "entries": _ENTRIES, "seed": seed},
        findings=_findings(rows),
        tables=[
            Table(
                title="Errors by construction, number of indices and type",
                head=head,
                rows=rows,
                note="The largest |score - inner product| as a share of Σ|u_i v_i|, over pairs that share an index; "
                "entries are ±U(0.1, 1). Random: anywhere; neighbours: among the last 40 indices. Blank: the type "
                "cannot hold the tokens. The bound holds where it is below 1: beyond, a token can meet another index.",
            )
        ],
    )


def _codes(size: int) -> list[tuple[str, Code]]:
    digits = max(1, (size - 1).bit_length())
    made: list[tuple[str, Code]] = [("quadratic, R³", DigitCode(size, 1)), ("2 digits", DigitCode(size, 2))]
    made += [("4 digits", DigitCode(size, 4)), ("binary digits", DigitCode(size, digits))]
    words = next(count for count in range(1, 17) if 17**count >= size)
    return [*made, ("one-hot, 17 elements", OneHotCode(size, 17, words))]


def _vectors(size: int, count: int, seed: int, *, neighbours: bool) -> tuple[Any, Any]:
    """Two sets of sparse rows that share indices often: each entry of a document is one of its query's, or new."""
    rng = np.random.default_rng([seed, size, neighbours])
    low = max(0, size - _WINDOW) if neighbours else 0
    pool = rng.integers(low, size, (count, _ENTRIES))
    sides = []
    for _ in range(2):
        places = np.where(rng.random(pool.shape) < 0.5, pool, rng.integers(low, size, pool.shape))
        values = rng.uniform(0.1, 1.0, pool.shape) * rng.choice([-1.0, 1.0], pool.shape)
        # Each index once a row, the first entry of it: sums of two could be anything.
        firsts = [np.unique(row, return_index=True) for row in places]
        indices = np.concatenate([found for found, _ in firsts])
        kept = np.concatenate([row[first] for row, (_, first) in zip(values, firsts, strict=True)])
        offsets = running_count([len(found) for found, _ in firsts])
        sides.append(csr_array((kept, indices, offsets), shape=(count, size)))
    return sides[0], sides[1]


def _row(label: str, size: int, code: Code, dtype: DType, drawn: dict[str, tuple[Any, Any]]) -> list[Any]:
    shown = label if label != "chosen" else f"chosen: {_told(code)}"
    errors = [_error(code, dtype, *drawn[kind]) if code.holds(dtype) else None for kind in _KINDS]
    return [shown, code.dim, size, dtype, *errors, code.error(dtype)]


def _error(code: Code, dtype: DType, queries: Any, documents: Any) -> float:
    names = [str(row) for row in range(queries.shape[0])]
    scores = maxsim(
        sparse_queries(names, queries, code=code, dtype=dtype),
        sparse_documents(names, documents, code=code, dtype=dtype),
    )
    scale = (abs(queries) @ abs(documents).T).toarray()
    shared = scale > 0
    off = np.abs(scores - (queries @ documents.T).toarray())
    return float(np.max(off[shared] / scale[shared], initial=0.0))


def _told(code: Code) -> str:
    if isinstance(code, DigitCode):
        return f"{code.digits} digit{'s' if code.digits > 1 else ''}"
    return f"one-hot, {code.prime} elements"


def _findings(rows: Sequence[Sequence[Any]]) -> list[str]:
    """What the chosen constructions reach, by type."""
    told = []
    for dtype in _DTYPES:
        chosen = [row for row in rows if row[0].startswith("chosen") and row[3] == dtype]
        worst = max(max(row[4], row[5]) for row in chosen)
        dims = sorted({row[1] for row in chosen})
        sizes = max(row[2] for row in chosen)
        told.append(
            f"In {dtype} the chosen construction errs by at most {worst:.2g} up to {sizes:,} indices, "
            f"in {dims[0]} to {dims[-1]} dimensions."
        )
    return told
