"""Two loops of late interaction, compiled for this machine where llvmlite is installed: the extra `fast`.

`nearest` multiplies query tokens with documents and keeps, of each query token and document, the largest product,
where it is and the second largest, all in registers: no product is ever stored. `settle` tells from these which
routes are sure, and multiplies as `askew.linalg.row_dots` does, to the same bits, what is wanted exactly.

What `nearest` finds has the error bound of any order of summation, and only what `settle` gives is returned; so
results are those of the BLAS (`askew.late.routes`) to the last bit.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from askew.late.llvm import Compiled, Function, Writer
from askew.linalg.fixed import Float64Array, FloatArray, IntArray

__all__ = ["LANES", "Kernels", "Nearest", "kernels"]

#: Query tokens that are multiplied at a time.
LANES = 32
# Document tokens at a time. By 32 lanes they take 12 of AVX2's 16 registers, as many sums as hide the time of one.
_ROWS = 3
_VECTOR_BYTES = 32
# Document tokens are asked of memory so many steps before they are multiplied: without, one query runs at two thirds.
_AHEAD = 2


@dataclass(frozen=True, eq=False)
class Nearest:
    """Of each of f documents and t query tokens, the last of s ≥ t columns being padding.

    Attributes:
        largest: (f, s) the largest product.
        second: (f, s) the second largest, as large on ties; -inf where there is one token.
        token: (f, s) the index in its document of the first token of the largest product.
    """

    largest: FloatArray
    second: FloatArray
    token: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Kernels:
    """The two loops for one type of products.

    Attributes:
        real: float32 or float64.
        code: the compiled functions.
    """

    real: np.dtype[Any]
    code: Compiled

    def nearest(self, queries: FloatArray, tokens: FloatArray, offsets: IntArray) -> Nearest:
        """The largest products of (t, d) query tokens and f documents: (T, d) tokens and (f + 1,) offsets."""
        count, dim = queries.shape
        panels = -(-count // LANES)
        padded = np.zeros((panels * LANES, dim), dtype=self.real)
        padded[:count] = queries
        packed = np.ascontiguousarray(padded.reshape(panels, LANES, dim).transpose(0, 2, 1))
        shape = (len(offsets) - 1, panels * LANES)
        found = Nearest(np.empty(shape, self.real), np.empty(shape, self.real), np.empty(shape, np.int32))
        places = (packed, self._plain(tokens), offsets, found.largest, found.second, found.token)
        self.code.functions["nearest"](*(place.ctypes.data for place in places), dim, panels, shape[0])
        return found

    def settle(
        self,
        found: Nearest,
        queries: tuple[FloatArray, FloatArray],
        tokens: tuple[FloatArray, FloatArray],
        offsets: IntArray,
        *,
        reach: Float64Array,
        unit: Float64Array,
        every: bool,
    ) -> Float64Array:
        """Similarities, after which the tokens of `found` are the routes.

        Args:
            found: from `nearest`.
            queries: (t, d) as they are, and as they were multiplied.
            tokens: (T, d) likewise.
            offsets: (f + 1,).
            reach: (t,) what lies so far below the largest product is not the route.
            unit: (t,) what a product is multiplied by to be a similarity.
            every: make all exact; if not, only where the route was not sure, and products elsewhere.

        Returns:
            (f, t) float64.
        """
        count, dim = queries[0].shape
        similarity = np.empty((len(offsets) - 1, count))
        exact, scaled = (self._plain(part) for part in tokens)
        places = (
            np.require(queries[0], np.float64, ["C", "A"]),
            self._plain(queries[1]),
            exact,
            scaled,
            offsets,
            reach,
            unit,
            found.largest,
            found.second,
            found.token,
            similarity,
            np.empty(dim + 1),
        )
        numbers = (dim, count, found.token.shape[1], len(similarity), int(every))
        self.code.functions["settle"](*(place.ctypes.data for place in places), *numbers)
        return similarity

    def _plain(self, rows: FloatArray) -> FloatArray:
        return np.require(rows, self.real, ["C", "A"])


_made: dict[str, Kernels | None] = {}
_making = threading.Lock()


def kernels(real: npt.DTypeLike, *, worth: bool = True) -> Kernels | None:
    """The loops for float32 or float64; None without llvmlite.

    Args:
        real: the type of the products.
        worth: compile them, a third of a second once a process; if not, take them if that is done.
    """
    kind = np.dtype(real)
    with _making:
        if worth and kind.name not in _made:
            _made[kind.name] = _make(kind)
        return _made.get(kind.name)


def _make(kind: np.dtype[Any]) -> Kernels | None:
    try:
        writer = Writer()
    except ImportError:
        return None
    real = writer.ir.FloatType() if kind == np.float32 else writer.ir.DoubleType()
    with writer.function("nearest", "ppppppiii") as code:
        _write_nearest(code, real, _VECTOR_BYTES // kind.itemsize)
    with writer.function("settle", "ppppppppppppiiiii") as code:
        _write_settle(code, real)
    return Kernels(kind, writer.compile())


def _write_nearest(code: Function, real: Any, width: int) -> None:
    """For each document and 32 query tokens: its tokens three at a time, each entry with all 32, then the maximum."""
    to, number = code.to, code.number
    queries, tokens, offsets, largest, second, token, dim, panels, documents = code.arguments
    parts = range(LANES // width)
    kind, places = code.vector(real, width), code.vector(code.small, width)
    zeros, lowest = code.filled(real, width, 0.0), code.filled(real, width, float("-inf"))
    with code.loop(number(0), documents) as document, code.loop(number(0), panels) as panel:
        begin = code.load(offsets, document, code.whole)
        end = code.load(offsets, to.add(document, number(1)), code.whole)
        panel_at = to.mul(to.mul(panel, dim), number(LANES))
        best = [code.slot(kind, lowest) for _ in parts]
        next_best = [code.slot(kind, lowest) for _ in parts]
        route = [code.slot(places, code.filled(code.small, width, 0)) for _ in parts]
        with code.loop(begin, end, _ROWS) as first:
            rows = [to.add(first, number(row)) for row in range(_ROWS)]
            there = [to.icmp_signed("<", row, end) for row in rows]
            # Past the end the last row is multiplied again, and its products are left out.
            rows = [to.select(known, row, to.sub(end, number(1))) for known, row in zip(there, rows, strict=True)]
            starts = [to.mul(row, dim) for row in rows]
            ahead = code.at(tokens, to.mul(to.add(first, number(_AHEAD * _ROWS)), dim), real)
            with code.loop(number(0), to.mul(dim, number(_ROWS)), 16) as k:
                code.prefetch(code.at(ahead, k, real))
            sums = [[code.slot(kind, zeros) for _ in parts] for _ in rows]
            with code.loop(number(0), dim) as k:
                entries = [code.spread(code.load(tokens, to.add(start, k), real), width) for start in starts]
                asked_at = to.add(panel_at, to.mul(k, number(LANES)))
                for part in parts:
                    asked = code.load(queries, to.add(asked_at, number(part * width)), real, width)
                    for entry, total in zip(entries, sums, strict=True):
                        total[part].set(code.fma(entry, asked, total[part].get()))
            for row, known, total in zip(rows, there, sums, strict=True):
                within = code.spread(to.trunc(to.sub(row, begin), code.small), width)
                for part in parts:
                    value = to.select(known, total[part].get(), lowest)
                    held, runner = best[part].get(), next_best[part].get()
                    wins = to.fcmp_ordered(">", value, held)
                    loser = to.select(wins, held, value)
                    next_best[part].set(to.select(to.fcmp_ordered(">", loser, runner), loser, runner))
                    best[part].set(to.select(wins, value, held))
                    route[part].set(to.select(wins, within, route[part].get()))
        out = to.mul(to.add(to.mul(document, panels), panel), number(LANES))
        for part in parts:
            at = to.add(out, number(part * width))
            code.store(best[part].get(), largest, at, real)
            code.store(next_best[part].get(), second, at, real)
            code.store(route[part].get(), token, at, code.small)


def _write_settle(code: Function, real: Any) -> None:
    """For each document and query token: the one token that can be its route, or the best of all that can."""
    to, number, double = code.to, code.number, code.double
    wide, narrow, exact, scaled, offsets, reach, unit, largest, second, token, similarity, sums = code.arguments[:12]
    dim, count, columns, documents, every = code.arguments[12:]
    with code.loop(number(0), documents) as document, code.loop(number(0), count) as query:
        begin = code.load(offsets, document, code.whole)
        end = code.load(offsets, to.add(document, number(1)), code.whole)
        at = to.add(to.mul(document, columns), query)
        largest_here = _as(code, code.load(largest, at, real), double)
        lowest = to.fsub(largest_here, code.load(reach, query, double))
        sure = to.fcmp_ordered("<", _as(code, code.load(second, at, real), double), lowest)
        value = code.slot(double, to.fmul(largest_here, code.load(unit, query, double)))
        with to.if_then(to.or_(to.icmp_signed("!=", every, number(0)), to.not_(sure))):
            known = to.add(begin, to.sext(code.load(token, at, code.small), code.whole))
            first = to.select(sure, known, begin)
            last = to.select(sure, to.add(known, number(1)), end)
            value.set(code.ir.Constant(double, float("-inf")))
            route = code.slot(code.whole, first)
            asked = to.mul(query, dim)
            with code.loop(first, last) as row:
                place = to.mul(row, dim)
                close = code.slot(code.ir.IntType(1), sure)
                with to.if_then(to.not_(sure)):
                    quick = _quick_product(code, real, code.at(narrow, asked, real), code.at(scaled, place, real), dim)
                    close.set(to.fcmp_ordered(">=", _as(code, quick, double), lowest))
                with to.if_then(close.get()):
                    rows = code.at(wide, asked, double), code.at(exact, place, real)
                    found = _tree_product(code, real, *rows, sums, dim)
                    with to.if_then(to.fcmp_ordered(">", found, value.get())):
                        value.set(found)
                        route.set(row)
            code.store(to.trunc(to.sub(route.get(), begin), code.small), token, at, code.small)
            value.set(to.fadd(value.get(), code.ir.Constant(double, 0.0)))  # turns a -0.0 into 0.0
        code.store(value.get(), similarity, to.add(to.mul(document, count), query), double)


def _quick_product(code: Function, real: Any, left: Any, right: Any, dim: Any) -> Any:
    """An inner product in the type of its factors, in the order that is quickest."""
    to = code.to
    whole = to.and_(dim, code.number(-LANES))
    many = code.slot(code.vector(real, LANES), code.filled(real, LANES, 0.0))
    with code.loop(code.number(0), whole, LANES) as k:
        many.set(code.fma(code.load(left, k, real, LANES), code.load(right, k, real, LANES), many.get()))
    held, width = many.get(), LANES
    while width > 2:
        width //= 2
        held = to.fadd(code.shuffled(held, range(width)), code.shuffled(held, range(width, 2 * width)))
    total = code.slot(real, to.fadd(*(to.extract_element(held, code.ir.Constant(code.small, at)) for at in range(2))))
    with code.loop(whole, dim) as k:
        total.set(to.fadd(total.get(), to.fmul(code.load(left, k, real), code.load(right, k, real))))
    return total.get()


def _tree_product(code: Function, real: Any, left: Any, right: Any, sums: Any, dim: Any) -> Any:
    """An inner product in float64, its terms halved again and again as `tree_sum` does."""
    to, number, double = code.to, code.number, code.double

    def product(k: Any, width: int) -> Any:
        other = _as(code, code.load(right, k, real, width), code.vector(double, width))
        return to.fmul(code.load(left, k, double, width), other)

    def held(k: Any, width: int) -> Any:
        return code.load(sums, k, double, width)

    def halve(width: Any, term: Any) -> Any:
        """sums[k] = term[k] + term[k + rest] for the first half; what is left are `rest` terms."""
        half = to.lshr(width, number(1))
        rest, even = to.sub(width, half), to.and_(half, number(-4))
        for first, last, step in ((number(0), even, 4), (even, half, 1)):
            with code.loop(first, last, step) as k:
                code.store(to.fadd(term(k, step), term(to.add(rest, k), step)), sums, k, double)
        return rest

    left_over = code.slot(code.whole, halve(dim, product))
    with code.loop(to.lshr(dim, number(1)), left_over.get()) as middle:
        code.store(product(middle, 1), sums, middle, double)
    with code.loop_while(lambda: to.icmp_signed(">", left_over.get(), number(1))):
        left_over.set(halve(left_over.get(), held))
    return held(number(0), 1)


def _as(code: Function, value: Any, kind: Any) -> Any:
    """A float32 or float64, or a vector of them, as float64."""
    return value if value.type == kind else code.to.fpext(value, kind)
