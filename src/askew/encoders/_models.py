"""Models of sentence-transformers: how they are loaded, told apart, prompted, and where their window ends."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError

from askew._extras import require
from askew.encoders._quiet import settings_kept
from askew.errors import EncoderError, ParameterError, name_some

if TYPE_CHECKING:
    from askew.protocols import Kind

__all__ = [
    "is_multi_vector",
    "load_model",
    "longer_than",
    "model_prompts",
    "model_signature",
    "model_window",
    "save_model",
]

# What models call their own prompts, best first.
_PROMPT_NAMES: Mapping[Kind, tuple[str, ...]] = {
    "query": ("query",),
    "document": ("document", "passage", "corpus"),
}
# The class of models that give a vector a token.
_MULTI = "MultiVectorEncoder"
_EXTRA = {"extra": "sentence-transformers", "purpose": "loading this encoder"}


def load_model(model: str, device: str | None, *, multi_vector: bool = False) -> Any:
    """A model, without a bar, a line or a setting of the process changed.

    Args:
        model: a folder, or a name on the hub.
        device: what torch calls it; what torch finds by default.
        multi_vector: whether it gives a vector a token.

    Raises:
        MissingExtraError: the package is not installed.
        EncoderError: the model cannot be loaded.
    """
    kind = _MULTI if multi_vector else "SentenceTransformer"
    with settings_kept():
        package = require("sentence_transformers", **_EXTRA)
        logs = require("transformers.utils.logging", **_EXTRA)
        if not hasattr(package, kind):
            raise EncoderError(
                f"sentence-transformers {package.__version__} has no {kind}",
                where=model,
                remedy="Install a later version of it",
            )
        try:
            with _without_bars(logs):
                return getattr(package, kind)(model, device=device)
        except (OSError, ValueError, RuntimeError, KeyError, ImportError, SafetensorError) as error:
            raise EncoderError(
                f"the model cannot be loaded ({' '.join(str(error).split())[:300]})",
                where=model,
                remedy="Name a folder of a sentence-transformers model, or one on the Hugging Face hub",
            ) from error


def save_model(model: Any, folder: str) -> None:
    """Write a model as its own package does, without a bar, a line or a setting of the process changed."""
    with settings_kept(), _without_bars(require("transformers.utils.logging", **_EXTRA)):
        model.save(folder)


@contextmanager
def _without_bars(logs: Any) -> Iterator[None]:
    """Its bars of weights are no progress of ours."""
    shown = logs.is_progress_bar_enabled()
    logs.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logs.enable_progress_bar()


def is_multi_vector(model: str) -> bool:
    """Whether a model says of itself that it gives many vectors a text."""
    for name, marks in (("config_sentence_transformers.json", "model_type"), ("config.json", "architectures")):
        path = _file_of(model, name)
        try:
            said = json.loads(path.read_text(encoding="utf-8")).get(marks) if path else None
        except (OSError, ValueError, AttributeError):
            said = None  # what is wrong with the model is told when it is loaded
        if said in (_MULTI, "ColBERT") or "HF_ColBERT" in (said if isinstance(said, list) else ()):
            return True
    return False


def _file_of(model: str, name: str) -> Path | None:
    """A file of a model, in its folder or fetched from the hub; None where there is none."""
    if Path(model).exists():
        return Path(model) / name
    hub = require("huggingface_hub", **_EXTRA)
    errors = require("huggingface_hub.errors", **_EXTRA)
    try:
        return Path(hub.hf_hub_download(model, name))
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, errors.HFValidationError, OSError):
        return None


def _prompt(model: Any, given: str | None, kind: Kind, where: str) -> str:
    """What goes before a text: what was given, the model's prompt of that name (``@NAME``), or its own for `kind`."""
    own: Mapping[str, str] = {name: prompt for name, prompt in (model.prompts or {}).items() if prompt is not None}
    if given is None:
        names = (*_PROMPT_NAMES[kind], model.default_prompt_name)
        return next((own[name] for name in names if own.get(name)), "")
    if not given.startswith("@"):
        return given
    if given[1:] not in own:
        raise ParameterError(
            f"the model has no prompt {given[1:]!r}",
            where=where,
            remedy=f"It has: {name_some(own) or 'none'}; a prompt of your own does not begin with @",
        )
    return own[given[1:]]


def model_prompts(model: Any, query: str | None, document: str | None, *, where: str) -> dict[Kind, str]:
    """What goes before queries, and before documents; see `_prompt`.

    Raises:
        ParameterError: the model has no prompt of that name.
    """
    return {"query": _prompt(model, query, "query", where), "document": _prompt(model, document, "document", where)}


def model_window(model: Any) -> int | None:
    """Tokens of a text that the model sees, if there is an end to them and it says so."""
    window = model.max_seq_length
    return None if window is None or math.isinf(window) else int(window)


def longer_than(model: Any, window: int | None, texts: list[str]) -> npt.NDArray[np.bool_]:
    """(n,) which texts, prompts included, have more tokens than the window."""
    tokenizer = getattr(model, "tokenizer", None)
    if window is None or tokenizer is None:
        return np.zeros(len(texts), dtype=np.bool_)
    tokens = tokenizer(texts, truncation=False, padding=False, verbose=False)["input_ids"]
    return np.array([len(row) > window for row in tokens], dtype=np.bool_)


def model_signature(model: Any) -> Mapping[str, Any]:
    """A hash of the weights, the model's parts, and its window: the same wherever the model lies."""
    parts = hashlib.sha256(str(model).encode()).hexdigest()
    facts = {"weights": _weights(model), "parts": parts, "window": model_window(model)}
    return {"encoder": "sentence-transformers", **facts}


def _weights(model: Any) -> str:
    digest, byte_type = hashlib.sha256(), require("torch", **_EXTRA).uint8
    for name, tensor in sorted(model.state_dict().items()):
        held = tensor.detach().cpu().contiguous().flatten()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        # As bytes: numpy has no bfloat16, in which many models come.
        digest.update(held.view(byte_type).numpy())
    return digest.hexdigest()
