"""ERA's protocol: on which tasks it is run, by which encoders, with how many labels and which methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askew.data import take_shares
from askew.errors import LabelError, ParameterError, name_some
from askew.formats import list_encoders, list_tasks
from askew.workflows.domains import domain_of, read_domain
from askew.workflows.efficiency import SHARES
from askew.workflows.methods import METHODS, RECIPES, Method
from askew.workflows.score_store import ScoreStore, print_of
from askew.workflows.two_encoders import TwoEncoders

__all__ = ["ENCODERS", "SETS", "Protocol", "domains_of"]

#: Where they are there, and none is named.
SETS = ("scifact", "nfcorpus-pp", "cosqa")
#: Of queries, and of the index.
ENCODERS = ("minilm-l6", "wordllama-256")
ABLATED = ("random negatives", "naive top-k", "1 negative", "10 negatives", "two layers", "without bias", "triplets")


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What is run.

    Attributes:
        data: folder of data sets.
        sets: names of them, or of folders of them; none for `SETS` where they are there, and otherwise all that both
            encoders have embedded.
        encoders: of queries, and of the index.
        shares: of a set's queries that train, below 1; or whole numbers of them.
        most: queries of a set at most, drawn by hash; None for all.
        documents: that an alignment may take.
        seeds: of the draws.
        ablations: of the recipe, at the largest share.
        rates: learning rates of the recipe's second stage to sweep, at the largest share; none for no sweep.
        decays: weight decays, likewise.
        recipes: run what needs torch.
        matrices: run the matrices over sets, where there are several.
        device: where recipes train.
        kept: a file that scores are added to as they are measured, and taken from by a run that was stopped.
    """

    data: Path
    sets: Sequence[str] = ()
    encoders: tuple[str, str] = ENCODERS
    shares: Sequence[float] = SHARES
    most: int | None = None
    documents: int = 1000
    seeds: Sequence[int] = (0, 1, 2)
    ablations: Sequence[str] = ABLATED
    rates: Sequence[float] = (1e-6, 1e-5, 1e-4, 1e-3)
    decays: Sequence[float] = (0.0, 1e-4, 1e-2)
    recipes: bool = True
    matrices: bool = True
    device: str = "cpu"
    kept: Path | None = None

    @property
    def methods(self) -> dict[str, Method]:
        """Ours, and the published ones."""
        return {**METHODS, **(RECIPES if self.recipes else {})}

    def read(self) -> tuple[list[TwoEncoders], list[str]]:
        """The tasks, and what of a domain was left out, in words.

        Raises:
            ParameterError: there is no such set or domain, or it is not embedded by both encoders.
            InputError: one is missing or damaged.
        """
        tasks, left_out = list[TwoEncoders](), list[str]()
        for name in self._names():
            try:
                tasks.append(self._read(name))
            except LabelError as error:
                if name in self.sets:
                    raise
                left_out.append(f"{name} is left out: {error.problem}.")
        if not tasks:
            raise LabelError("no task has queries enough", where=self.data, remedy="Give 4 judged ones or more")
        return tasks, left_out

    def store(self, tasks: list[TwoEncoders]) -> ScoreStore | None:
        """Where scores on these tasks are kept, if anywhere."""
        if self.kept is None:
            return None
        return ScoreStore(self.kept, print_of(tasks, self.encoders, self.documents, self.device))

    def _names(self) -> list[str]:
        there = list_tasks(self.data)
        if not there:
            raise ParameterError(
                "there is no data set in it", where=self.data, remedy="Name a folder of folders with embeddings"
            )
        if not self.sets:
            whole = [name for name in there if not self._lacking(name)]
            return list(SETS) if set(SETS) <= set(there) else whole or list(there[:1])
        found = {
            asked: [name for name in there if name == asked or name.startswith(f"{asked}/")] for asked in self.sets
        }
        unknown = next((asked for asked, names in found.items() if not names), None)
        if unknown is not None:
            raise ParameterError(
                f"there is no set or domain {unknown!r}", where=self.data, remedy=f"There: {name_some(there, 20)}"
            )
        return list(dict.fromkeys(name for names in found.values() for name in names))

    def _lacking(self, name: str) -> list[str]:
        there = list_encoders(self.data / name)
        return [encoder for encoder in self.encoders if encoder not in there]

    def _read(self, name: str) -> TwoEncoders:
        if lacking := self._lacking(name):
            there = name_some(list_encoders(self.data / name), 20) or "none"
            raise ParameterError(
                f"{name} is not embedded by {' and '.join(lacking)}",
                where="encoder",
                remedy=f"Name that of queries, then that of the index; there: {there}",
            )
        asked, told = self.encoders
        options: dict[str, Any] = {"most": self.most, "texts": True, "seed": 42}
        task = read_domain(self.data / name, query_encoder=asked, document_encoder=told, name=name, **options)
        take_shares(() if task.qrels is None else task.qrels.queries, train=1)  # too few to part are refused now
        return task


def domains_of(tasks: Sequence[TwoEncoders]) -> dict[str, list[TwoEncoders]]:
    """Domain → its tasks."""
    found: dict[str, list[TwoEncoders]] = {}
    for task in tasks:
        found.setdefault(domain_of(task.name), []).append(task)
    return found
