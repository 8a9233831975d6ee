"""How much hypothesis tries: HYPOTHESIS_PROFILE is `default` (the same few every time) or `long`; quick fits."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile(
    "default", deadline=None, max_examples=60, derandomize=True, database=None, suppress_health_check=_SLOW
)
settings.register_profile("long", deadline=None, max_examples=20_000, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def choosing_from_few() -> Callable[[], AbstractContextManager[None]]:
    """Makes fits quick while a context lasts: ridge at a few strengths stands for all that is tried by default."""
    from askew.estimators import Ridge, has_shared
    from askew.operators import Term

    def few(prior: Term, ranks: tuple[int, ...]) -> tuple[Ridge, ...]:
        bounds = (None, *ranks)
        dual, shared = Ridge("dual", (0.01, 0.1, 1.0), bounds), Ridge("shared", (0.1, 1.0), bounds)
        return (dual, shared) if has_shared(prior) else (dual,)

    home = importlib.import_module("askew.workflows.fit")  # `askew.workflows.fit` is the function

    @contextmanager
    def patched() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(home, "_default_estimators", few)
            yield

    return patched


@pytest.fixture
def few_candidates(choosing_from_few: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Quick fits for one test, of what comes before and after choosing."""
    with choosing_from_few():
        yield


@pytest.fixture
def negated(tmp_path: Path) -> Path:
    """Ten questions in a folder, eight to train on: not to be X is right, to be X is wrong."""
    home = tmp_path / "data"
    home.mkdir()
    words = ("fat", "tall", "rich", "old", "loud", "cold", "dark", "slow", "weak", "wide")
    documents = [
        (f"{side}{n}", f"He is {said}{word}.")
        for side, said in (("y", ""), ("n", "not "))
        for n, word in enumerate(words)
    ]
    queries = [(f"q{n}", f"Who is not {word}?") for n, word in enumerate(words)]
    for name, held in (("corpus", documents), ("queries", queries)):
        lines = [json.dumps({"_id": one, "text": text}) for one, text in held]
        (home / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    lines = [f"{'test' if n > 7 else 'train'}\tq{n}\tn{n}\ty{n}" for n in range(10)]
    (home / "pairs.tsv").write_text("split\tquery-id\tpositives\tnegatives\n" + "\n".join(lines) + "\n")
    return home
