"""Wanted and unwanted parts of a query, apart: no parsing, no training.

    score(Q, D) = MaxSim(W, D) - weight · (|W| / |U|) · MaxSim(U, D)

W is what the query wants and U what it does not. Signed MaxSim routes by the raw similarity and then
multiplies by the token's weight, so this is one query whose unwanted tokens have negative weights: exact in
`askew.late.search`, in a rerank, and told token by token by `askew.late.explain`. The division by |U| makes
one unwanted word count as much as a wanted sentence.

`demote` is the other way: the score stays, and documents of the shortlist that stand out by their unwanted
part go below the rest, as EXCISE has it (arXiv 2608.05497; FORMULAS 3.6).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from askew.data import Run, TokenEmbeddings
from askew.errors import DimensionError, InputError, MatchError, ParameterError, counted, name_some
from askew.late.given import check_tokens
from askew.late.maxsim import maxsim_pairs
from askew.late.prepared import check_codes
from askew.linalg.fixed import Float64Array

__all__ = ["Demoted", "demote", "excluding"]


def excluding(wanted: TokenEmbeddings, unwanted: TokenEmbeddings, *, weight: float = 0.5) -> TokenEmbeddings:
    """Queries that want one thing and not another, as one set of signed queries.

    The size of a part is the sum of its positive weights: its number of tokens where there are none. So a
    second unwanted part is a second call, and counts as much as the first.

    Args:
        wanted: n queries.
        unwanted: what some of them do not want, under the same ids; a part without tokens excludes nothing.
        weight: how much the unwanted part counts. At 1 a document that meets both parts equally well scores 0.

    Returns:
        The queries in the order of `wanted`, unwanted tokens last and of negative weight. Where none has an
        unwanted part, `wanted` itself.

    Raises:
        ParameterError: the weight is not positive, or not finite.
        MatchError: an unwanted part belongs to no query.
        DimensionError: the parts have different dimensions.
        EmbeddingError: they are sparse vectors by different codes.
        InputError: a part is both wanted and unwanted, or has no positive weight.

    >>> wanted, unwanted = TokenEmbeddings(["q"], np.eye(3)[:2], [0, 2]), TokenEmbeddings(["q"], np.eye(3)[2:], [0, 1])
    >>> excluding(wanted, unwanted).weights.tolist()
    [1.0, 1.0, -1.0]
    """
    check_tokens(wanted=wanted, unwanted=unwanted)
    if not (weight > 0 and math.isfinite(weight)):
        raise ParameterError(f"the weight is {weight}", where="weight", remedy="Give a positive number")
    _match(wanted, unwanted)
    if not len(unwanted.tokens):
        return wanted
    kind = np.result_type(wanted.dtype, unwanted.dtype)
    items, weights = [], []
    for row, query in enumerate(wanted.ids):
        tokens, signs = np.asarray(wanted.tokens_of(query), kind), _weights(wanted, row)
        if query in unwanted and len(unwanted.tokens_of(query)):
            part = unwanted.tokens_of(query)
            if part.shape == tokens.shape and np.array_equal(part, tokens):
                raise InputError(
                    "its wanted and its unwanted part are the same", where=f"query {query!r}", remedy="Change one"
                )
            (other,) = unwanted.rows([query])
            against = _weights(unwanted, int(other))
            scale = weight * _size(signs, query, "wanted") / _size(against, query, "unwanted")
            tokens, signs = np.concatenate([tokens, part]), np.concatenate([signs, -scale * against])
        items.append(tokens)
        weights.append(signs)
    return TokenEmbeddings.from_list(
        wanted.ids, items, weights=weights, encoder=wanted.encoder, code=wanted.code, source=wanted.source
    )


@dataclass(frozen=True)
class Demoted:
    """A run after documents went down.

    Attributes:
        run: the same documents; those that moved stand below the others.
        moved: query → the documents that went down, those with most of the unwanted part first.
    """

    run: Run
    moved: Mapping[str, tuple[str, ...]]


def demote(
    run: Run,
    unwanted: TokenEmbeddings,
    documents: TokenEmbeddings,
    *,
    depth: int = 100,
    deviations: float = 0.75,
    most: int | None = None,
) -> Demoted:
    """Move documents of the shortlist that hold the unwanted part below all others of their query.

    A document goes down if MaxSim of the unwanted part lies more than `deviations` standard deviations above
    its mean over the shortlist. EXCISE takes one deviation and moves three documents at the most.

    Args:
        run: what any system found.
        unwanted: unwanted parts, under the ids of queries; other queries stay as they are.
        documents: token embeddings of the documents of the run.
        depth: how many documents of a query are the shortlist; the others are not looked at.
        deviations: how far from the mean is too far.
        most: at most so many documents a query go down, those with most of the unwanted part; all by default.

    Raises:
        ParameterError: depth or most is below 1, or deviations is not finite.
        MatchError: a document of a shortlist has no token embeddings.
        DimensionError: unwanted parts and documents do not meet in one dimension.

    >>> run = Run({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    >>> documents = TokenEmbeddings(["a", "b", "c"], np.eye(2)[[0, 1, 1]], [0, 1, 2, 3])
    >>> told = demote(run, TokenEmbeddings(["q"], np.eye(2)[:1], [0, 1]), documents)
    >>> told.run.documents("q"), told.moved
    (('b', 'c', 'a'), {'q': ('a',)})
    """
    for name, value in (("depth", depth), ("most", most)):
        if value is not None and value < 1:
            raise ParameterError(f"{name} is {value}", where=name, remedy="Give at least 1")
    if not math.isfinite(deviations):
        raise ParameterError(f"deviations is {deviations}", where="deviations", remedy="Give a finite number")
    ranked, moved = {}, {}
    for query, names, scores in run.items():
        held = dict(zip(names, scores.tolist(), strict=True))
        if query in unwanted and len(unwanted.tokens_of(query)):
            down = _standing_out(query, names[:depth], unwanted, documents, deviations)[:most]
            if down:
                moved[query] = down
                finite = scores[np.isfinite(scores)]
                reach = float(finite.max() - finite.min()) + 1.0 if len(finite) else 1.0
                held |= {name: held[name] - reach for name in down}
        ranked[query] = held
    return Demoted(Run(ranked, name=run.name), moved)


def _standing_out(
    query: str, names: tuple[str, ...], unwanted: TokenEmbeddings, documents: TokenEmbeddings, deviations: float
) -> tuple[str, ...]:
    """Documents of a shortlist far above its mean of the unwanted part, the farthest first; ties by id."""
    found = maxsim_pairs(unwanted, documents, [(query, name) for name in names])
    seen = found[np.isfinite(found)]  # a document without tokens holds nothing unwanted
    if not len(seen):
        return ()
    far = float(seen.mean() + deviations * seen.std())
    out = [(-score, name) for score, name in zip(found.tolist(), names, strict=True) if score > far]
    return tuple(name for _, name in sorted(out))


def _match(wanted: TokenEmbeddings, unwanted: TokenEmbeddings) -> None:
    strangers = [name for name in unwanted.ids if name not in wanted]
    if strangers:
        raise MatchError(
            f"{counted(len(strangers), 'unwanted part belongs', 'unwanted parts belong')} to no query: "
            f"{name_some(strangers)}",
            where=unwanted.source,
            remedy="Give them the ids of queries",
        )
    check_codes(wanted, unwanted)
    if len(wanted.tokens) and len(unwanted.tokens) and wanted.dim != unwanted.dim:
        raise DimensionError(
            f"wanted tokens have {wanted.dim} dimensions and unwanted ones {unwanted.dim}",
            where=unwanted.source,
            remedy="Embed both with one encoder",
        )


def _weights(side: TokenEmbeddings, row: int) -> Float64Array:
    part = slice(int(side.offsets[row]), int(side.offsets[row + 1]))
    return np.ones(part.stop - part.start) if side.weights is None else side.weights[part]


def _size(weights: Float64Array, query: str, what: str) -> float:
    size = float(weights[weights > 0].sum())
    if not size > 0:
        raise InputError(
            f"its {what} part has no token of positive weight", where=f"query {query!r}", remedy="Give it one"
        )
    return size
