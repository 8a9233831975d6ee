"""What train-late learns from, in a folder: texts, and choices or judgements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from askew.errors import LabelError, MatchError, ParameterError, name_some
from askew.evaluation import Choices
from askew.formats import read_choices, read_side_texts, read_split

__all__ = ["LateTask"]

_PAIRS = "pairs.tsv"


@dataclass(frozen=True, eq=False)
class LateTask:
    """Texts, and choices by split; or positives alone, for training."""

    queries: Mapping[str, str]
    documents: Mapping[str, str]
    choices: Mapping[str, Choices]
    training: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    split: str

    @classmethod
    def read(cls, folder: Path, split: str) -> LateTask:
        """Read a folder."""
        texts = read_side_texts(folder, "queries"), read_side_texts(folder, "documents")
        choices: Mapping[str, Choices] = {}
        if (folder / _PAIRS).is_file():
            choices = read_choices(folder / _PAIRS)
            if split not in choices:
                raise ParameterError(
                    f"there is no split {split!r}", where=folder / _PAIRS, remedy=f"There: {', '.join(choices)}"
                )
            training = {name: (tuple(right), tuple(wrong)) for name, (right, wrong) in choices[split].items()}
        else:
            qrels = read_split(folder, split)
            good = {name: tuple(one for one, grade in qrels[name].items() if grade > 0) for name in qrels.queries}
            training = {name: (found, ()) for name, found in good.items() if found}
        if not training:
            raise LabelError("no query has a relevant document", where=folder, remedy="Give at least one")
        for side, held, asked in (
            ("queries", texts[0], {*training, *(name for one in choices.values() for name in one)}),
            (
                "documents",
                texts[1],
                {
                    one
                    for parts in (training, *choices.values())
                    for pair in parts.values()
                    for part in pair
                    for one in part
                },
            ),
        ):
            missing = sorted(asked - set(held))
            if missing:
                raise MatchError(f"{side} without a text: {name_some(missing)}", where=folder, remedy="Add their texts")
        return cls(*texts, choices, training, split)
