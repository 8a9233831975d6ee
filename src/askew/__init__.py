"""askew: adapt frozen embeddings to a retrieval task with few labels, and know whether it is worth it.

    import askew

    data = askew.read_dataset("DATA", split="train")
    fitted = askew.fit(data)
    print(fitted.choice.verdict.reason)
    askew.save(fitted.adapter, "adapter")
    run = askew.search(queries, documents, adapter=askew.load("adapter"), k=10)

The root imports each name when it is first used, so ``import askew`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from askew._version import __version__

if TYPE_CHECKING:
    from askew.adapters import Adapter
    from askew.data import Dataset, EmbeddingSet, Qrels, Run
    from askew.errors import AskewError
    from askew.evaluation import evaluate
    from askew.formats import load_adapter as load
    from askew.formats import read_dataset
    from askew.formats import save_adapter as save
    from askew.operators import BilinearOperator
    from askew.retrieval import search
    from askew.workflows.fit import fit

__all__ = [
    "Adapter",
    "AskewError",
    "BilinearOperator",
    "Dataset",
    "EmbeddingSet",
    "Qrels",
    "Run",
    "__version__",
    "evaluate",
    "fit",
    "load",
    "read_dataset",
    "save",
    "search",
]

_HOMES = {
    "Adapter": ("adapters", "Adapter"),
    "AskewError": ("errors", "AskewError"),
    "BilinearOperator": ("operators", "BilinearOperator"),
    "Dataset": ("data", "Dataset"),
    "EmbeddingSet": ("data", "EmbeddingSet"),
    "Qrels": ("data", "Qrels"),
    "Run": ("data", "Run"),
    "evaluate": ("evaluation", "evaluate"),
    "fit": ("workflows", "fit"),
    "load": ("formats", "load_adapter"),
    "read_dataset": ("formats", "read_dataset"),
    "save": ("formats", "save_adapter"),
    "search": ("retrieval", "search"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'askew' has no attribute {name!r}")
    package, attribute = _HOMES[name]
    value = getattr(importlib.import_module(f"askew.{package}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
