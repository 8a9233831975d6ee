"""What ir-measures does with input that it was not made for, each with what `evaluate` makes of it.

If a test of the first half of a pair fails after an update, the guard beside it may have become needless.
"""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import ir_measures
import pytest

from askew.data import Qrels, Run
from askew.errors import ParameterError
from askew.evaluation import evaluate

Table = dict[Any, dict[Any, Any]]


def raw(name: str, qrels: Table, run: Table) -> dict[str, float]:
    measure = ir_measures.parse_measure(name)
    return {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, run)}


def python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_float_grades() -> None:
    with pytest.raises(TypeError):
        raw("nDCG@10", {"q": {"a": 0.5}}, {"q": {"a": 1.0}})
    assert evaluate(Run({"q": {"a": 1.0}}), Qrels({"q": {"a": 0.5}})).mean("nDCG@10") == 1.0


def test_ties_go_by_descending_id() -> None:
    scores: Table = {"q": {"a": 1.0, "z": 1.0}}
    assert raw("RR", {"q": {"z": 1}}, scores) == {"q": 1.0}
    assert evaluate(Run(scores), Qrels({"q": {"z": 1}}), "RR").mean("RR") == 0.5


def test_scores_are_float32() -> None:
    scores: Table = {"q": {"a": 1 + 1e-8, "z": 1.0}}
    assert raw("RR", {"q": {"a": 1}}, scores) == {"q": 0.5}
    assert evaluate(Run(scores), Qrels({"q": {"a": 1}}), "RR").mean("RR") == 1.0


def test_nan_gets_a_number() -> None:
    value = raw("nDCG@10", {"q": {"a": 1}}, {"q": {"a": math.nan, "b": 1.0}})["q"]
    assert not math.isnan(value)
    # Run refuses NaN itself.


def test_missing_queries_vanish_from_pytrec_eval_alone() -> None:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}, "r": {"a": 1}}, {"recip_rank"})
    assert set(evaluator.evaluate({"q": {"a": 1.0}})) == {"q"}
    evaluation = evaluate(Run({"q": {"a": 1.0}}), Qrels({"q": {"a": 1}, "r": {"a": 1}}), ["RR", "nDCG@10"])
    assert (evaluation.mean("RR"), evaluation.mean("nDCG@10"), evaluation.missing) == (0.5, 0.5, ("r",))


@pytest.mark.parametrize("name", ["nDCG@10", "nDCG", "R@10", "P@5", "AP", "RR", "RR@10", "Success@1", "Rprec", "SetF"])
def test_no_relevant_document_scores_0_and_stays(name: str) -> None:
    qrels: Table = {"none": {"a": 0}, "some": {"a": 1}}
    run: Table = {"none": {"a": 1.0}, "some": {"a": 1.0}}
    assert raw(name, qrels, run)["none"] == 0.0
    assert evaluate(Run(run), Qrels(qrels), name).per_query(name)[0] == 0.0


def test_interpolated_precision_is_nan_without_relevant_documents() -> None:
    assert math.isnan(raw("IPrec@0.5", {"q": {"a": 0}}, {"q": {}})["q"])
    qrels = Qrels({"q": {"a": 0}, "r": {"a": 1}})
    assert evaluate(Run({"q": {}, "r": {"a": 1.0}}), qrels, "IPrec@0.5").mean("IPrec@0.5") == 0.5


def test_negative_grades_count_as_unjudged() -> None:
    qrels: Table = {"q": {"a": -1, "b": 1}}
    scores: Table = {"q": {"a": 2.0, "b": 1.0}}
    name = "Bpref"
    assert raw(name, qrels, scores) == {"q": 1.0}
    assert evaluate(Run(scores), Qrels(qrels), name).mean(name) == raw(name, {"q": {"a": 0, "b": 1}}, scores)["q"]


def test_ids_end_at_nul() -> None:
    scores: Table = {"q": {"a\0x": 2.0, "a\0y": 1.0}}
    assert evaluate(Run(scores), Qrels({"q": {"a\0y": 1}}), "RR").mean("RR") == 0.5


def test_a_cutoff_of_0_aborts_the_process() -> None:
    code = "import ir_measures as m; list(m.iter_calc([m.nDCG@0], {'q': {'a': 1}}, {'q': {'a': 1.0}}))"
    assert python(code).returncode < 0
    with pytest.raises(ParameterError, match="cutoff = 0"):
        evaluate(Run({"q": {"a": 1.0}}), Qrels({"q": {"a": 1}}), "nDCG@0")


def test_import_leaves_logging_alone() -> None:
    code = """
import logging, sys
root = logging.getLogger()
before = (root.level, list(root.handlers), logging.raiseExceptions)
import askew
assert "ir_measures" not in sys.modules
import askew.evaluation
from askew.data import Qrels, Run
evaluation = askew.evaluation.evaluate(Run({"q": {"a": 1.0}}), Qrels({"q": {"a": 1}}), ["nDCG@10", "R@5", "RR@10"])
assert "ir_measures" in sys.modules
assert before == (root.level, list(root.handlers), logging.raiseExceptions)
for name, logger in logging.Logger.manager.loggerDict.items():
    if isinstance(logger, logging.Logger):  # a NullHandler prints nothing
        assert all(isinstance(handler, logging.NullHandler) for handler in logger.handlers), name
        assert not name.startswith("ir_measures") or (logger.handlers, logger.level) == ([], logging.NOTSET)
assert not {"scipy.stats", "pandas", "ranx", "torch"} & set(sys.modules)
"""
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_library_does_add_a_handler() -> None:
    code = "import ir_measures, logging; print(len(logging.getLogger('ir_measures').handlers))"
    assert python(code).stdout == "1\n"


def test_handlers_of_the_user_stay() -> None:
    code = """
import logging
mine = logging.NullHandler()
logging.getLogger("ir_measures").addHandler(mine)
logging.getLogger("ir_measures").setLevel(10)
from askew.data import Qrels, Run
from askew.evaluation import evaluate
evaluate(Run({"q": {"a": 1.0}}), Qrels({"q": {"a": 1}}))
assert logging.getLogger("ir_measures").handlers == [mine]
assert logging.getLogger("ir_measures").level == 10
"""
    assert python(code).returncode == 0
