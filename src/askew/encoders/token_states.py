"""Texts to a vector a token: the states of a transformer, for late interaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from askew._blocks import blocks
from askew._extras import require
from askew.data import Finding, TokenEmbeddings
from askew.encoders._models import load_model, longer_than, model_prompt, model_signature, model_window
from askew.encoders.base import as_texts
from askew.errors import EncoderError, InputError, ParameterError, counted, name_some

if TYPE_CHECKING:
    from askew.protocols import Kind, Progress

__all__ = ["EncodedTokens", "TokenStateEncoder", "TokenStates"]

_PLAIN, _MULTI = "SentenceTransformer", "MultiVectorEncoder"


@dataclass(frozen=True)
class TokenStates:
    """What a model makes of a batch of texts, as tensors on its device; under a gradient where torch keeps one.

    Attributes:
        states: (b, L, h) hidden states of the transformer: what a head sees.
        mask: (b, L) bool, the tokens that count: no padding, nothing that the model leaves out.
        vectors: (b, L, d) unit rows: what is compared.
    """

    states: Any
    mask: Any
    vectors: Any


@dataclass(frozen=True)
class EncodedTokens:
    """Token embeddings of texts, and which texts were too long.

    Attributes:
        tokens: in the order of the texts.
        cut: ids of the texts of which the encoder saw only the beginning.
        limit: how many tokens of a text it sees, if that is known.
    """

    tokens: TokenEmbeddings
    cut: tuple[str, ...]
    limit: int | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was cut off, as a warning."""
        if not self.cut:
            return ()
        told = (
            f"{counted(len(self.cut), 'text is', 'texts are')} longer than the encoder takes: what comes after "
            f"its {self.limit:,} tokens is lost"
        )
        return (Finding("cut-tokens", "warning", told, len(self.cut), self.cut[:5]),)


class TokenStateEncoder:
    """A model of sentence-transformers, read token by token.

    Of a `MultiVectorEncoder`, also one of PyLate or of the first ColBERT, these are its own vectors: prompts,
    projection, expansion and what it skips are the model's. Of a plain `SentenceTransformer` they are the
    states of its transformer's last layer, which its pooling would average, scaled to length 1.

    Args:
        model: a folder, or a name on the hub.
        name: what the encoder is called; the last part of `model` by default.
        batch: texts embedded at once. The last bits of a vector depend on what stands beside its text.
        device: such as ``"cpu"`` or ``"cuda"``; what torch finds by default.
        query_prompt: goes before every query; the model's own by default, ``"@NAME"`` is one of the model's.
        document_prompt: likewise, for documents.
        special_tokens: whether the marks that the tokenizer adds (``[CLS]``, ``[SEP]``) count. They stand for
            the whole text. A `MultiVectorEncoder` decides that itself.

    Attributes:
        model: the torch module, for who trains it or puts a head on it.
        name: see above.
        batch: see above.
        multi_vector: whether the model is a `MultiVectorEncoder`.

    Raises:
        MissingExtraError: the package `sentence-transformers` is not installed.
        EncoderError: the model cannot be loaded, or it has no token states.
        ParameterError: the batch is below 1, the name blank, or the model has no prompt of that name.

    >>> encoder = TokenStateEncoder("sentence-transformers/all-MiniLM-L6-v2")  # doctest: +SKIP
    >>> encoder.encode({"q": "tools without adverts"}, kind="query").tokens  # doctest: +SKIP
    TokenEmbeddings(1 items, 7 tokens × 384 float32)
    """

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        batch: int = 32,
        device: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        special_tokens: bool = True,
    ) -> None:
        self.name = (name or Path(model).name or model).strip()
        if batch < 1:
            raise ParameterError(f"the batch is {batch}", where="batch", remedy="Ask for at least one text at once")
        if not self.name:
            raise ParameterError("the encoder's name is blank", where="name", remedy="Give it a name")
        self.batch = batch
        kind = _MULTI if _is_multi_vector(model) else _PLAIN
        self.multi_vector = kind == _MULTI
        self.model: Any = load_model(model, device, kind=kind)
        self._special = special_tokens or self.multi_vector
        self._prompts: dict[Kind, str] = {
            "query": model_prompt(self.model, query_prompt, "query", where=self.name),
            "document": model_prompt(self.model, document_prompt, "document", where=self.name),
        }

    @property
    def prompts(self) -> Mapping[Kind, str]:
        """What goes before every query, and before every document."""
        return dict(self._prompts)

    @property
    def signature(self) -> Mapping[str, Any]:
        """All that decides a vector, but text and prompt, as plain values; the weights as they are now."""
        return {**model_signature(self.model), "encoder": "token-states", "special_tokens": self._special}

    def limit(self, kind: Kind) -> int | None:
        """Tokens of a text that count, if that is known; the prompt's and the tokenizer's marks among them."""
        window = model_window(self.model)
        if not self.multi_vector:
            return window
        first = self.model[0]
        expansion = (getattr(first, "query_expansion", None) or {}) if kind == "query" else {}
        known = (window, getattr(first, f"{kind}_length", None), expansion.get("length"))
        return min((int(length) for length in known if length is not None), default=None)

    def states(self, texts: Sequence[str], *, kind: Kind = "document") -> TokenStates:
        """Token states of one batch: what training and a head start from.

        Nothing is detached and no mode is set: call `model.train()`, `torch.no_grad()` or an autocast around
        it. Texts longer than `limit` are cut.

        Args:
            texts: b texts, none of them empty.
            kind: whose prompt, and in a `MultiVectorEncoder` whose rules.

        Raises:
            EncoderError: the model has no token states.
        """
        torch = require("torch", extra="sentence-transformers", purpose="token states")
        features = self._features(list(texts), kind)
        first, *others = self.model
        features = first(features)
        if "token_embeddings" not in features:
            raise EncoderError(
                "the model has no token states: it makes one vector of a text",
                where=self.name,
                remedy="Name a model with a transformer",
            )
        states = features["token_embeddings"]
        if self.multi_vector:
            for module in others:
                features = module(features, **({"task": kind} if "task" in module.forward_kwargs else {}))
        mask = features["attention_mask"].bool()
        if not self._special:
            marks = torch.tensor(self.model.tokenizer.all_special_ids, device=mask.device)
            mask = mask & ~torch.isin(features["input_ids"], marks)
        vectors = torch.nn.functional.normalize(features["token_embeddings"], dim=-1)
        return TokenStates(states, mask, vectors)

    def encode(
        self,
        texts: Mapping[str, str],
        *,
        kind: Kind = "document",
        dtype: Literal["float16", "float32"] = "float32",
        progress: Progress | None = None,
    ) -> EncodedTokens:
        """Turn texts into token embeddings of unit rows.

        Texts of like length are embedded together, so that little is spent on padding. While the result is
        put together it is in memory twice.

        Args:
            texts: id → text, as `askew.formats.read_texts` gives them.
            kind: ``"query"`` or ``"document"``.
            dtype: of the tokens; float16 halves them.
            progress: told after each batch how many texts are done.

        Raises:
            InputError: there is no text, one is empty, or no string.
            EncoderError: the model has no token states, or gives NaN or infinite values.
        """
        names, plain = list(texts), as_texts(list(texts.values()))
        _refuse_empty(dict(zip(names, plain, strict=True)), self.name)
        torch = require("torch", extra="sentence-transformers", purpose="token states")
        cut = longer_than(self.model, self.limit(kind), [self._prompts[kind] + text for text in plain])
        order = sorted(range(len(plain)), key=lambda place: (-len(plain[place]), names[place]))
        items: list[Any] = [None] * len(plain)
        self.model.eval()
        for part in blocks(len(order), self.batch):
            with torch.inference_mode():
                found = self.states([plain[place] for place in order[part]], kind=kind)
                rows, mask = found.vectors.float().cpu().numpy(), found.mask.cpu().numpy()
            for place, row, kept in zip(order[part], rows, mask, strict=True):
                items[place] = row[kept].astype(dtype)
            _refuse_odd([(names[place], items[place]) for place in order[part]], self.name)
            if progress is not None:
                progress(part.stop, len(order))
        tokens = TokenEmbeddings.from_list(names, items, encoder=self.name)
        return EncodedTokens(tokens, tuple(names[row] for row in np.flatnonzero(cut)), self.limit(kind))

    def pieces(self, text: str, *, kind: Kind = "document") -> tuple[str, ...]:
        """The tokens of a text as they are written, one for each vector that `encode` gives it.

        >>> encoder.pieces("Newts swim.")  # doctest: +SKIP
        ('[CLS]', 'new', '##ts', 'swim', '.', '[SEP]')
        """
        torch = require("torch", extra="sentence-transformers", purpose="token states")
        with torch.inference_mode():
            mask = self.states([text], kind=kind).mask[0]
        numbers = self._features([text], kind)["input_ids"][0][mask.cpu()]
        return tuple(self.model.tokenizer.convert_ids_to_tokens(numbers.tolist()))

    def _features(self, texts: list[str], kind: Kind) -> dict[str, Any]:
        """The tokenizer's answer, on the model's device."""
        prompt = self._prompts[kind]
        if self.multi_vector:
            features = self.model.preprocess(texts, prompt=prompt or None, task=kind)
        else:  # called `tokenize` in earlier versions
            tokenize = getattr(self.model, "preprocess", None) or self.model.tokenize
            features = tokenize([prompt + text for text in texts])
        device = self.model.device
        return {name: value.to(device) if hasattr(value, "to") else value for name, value in features.items()}


def _is_multi_vector(model: str) -> bool:
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
    hub = require("huggingface_hub", extra="sentence-transformers", purpose="loading this encoder")
    errors = require("huggingface_hub.errors", extra="sentence-transformers", purpose="loading this encoder")
    try:
        return Path(hub.hf_hub_download(model, name))
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, errors.HFValidationError, OSError):
        return None


def _refuse_empty(texts: Mapping[str, str], where: str) -> None:
    if not texts:
        raise InputError("there is no text", where=where, remedy="Give at least one")
    empty = [name for name, text in texts.items() if not text.strip()]
    if empty:
        raise InputError(
            f"{counted(len(empty), 'text is', 'texts are')} empty: {name_some(empty)}",
            where=where,
            remedy="Leave them out: an empty text has no token to meet",
        )


def _refuse_odd(items: Sequence[tuple[str, Any]], where: str) -> None:
    odd = [name for name, rows in items if not np.isfinite(rows).all()]
    if odd:
        raise EncoderError(
            f"the token vectors of {name_some(odd)} hold NaN or infinite values",
            where=where,
            remedy="Check these texts and the encoder's precision (float16 overflows)",
        )
