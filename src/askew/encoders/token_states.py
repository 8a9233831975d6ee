"""Texts to a vector a token: the states of a transformer, for late interaction."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from askew._blocks import blocks
from askew._checks import check_kind
from askew._extras import require
from askew.data import Finding, TokenEmbeddings
from askew.encoders._models import (
    is_multi_vector,
    load_model,
    longer_than,
    model_prompts,
    model_signature,
    model_window,
    save_model,
)
from askew.encoders.base import as_texts, prompt_for
from askew.errors import EncoderError, InputError, ParameterError, counted, name_some

if TYPE_CHECKING:
    from askew.protocols import Kind, Progress

__all__ = ["EncodedTokens", "TokenStateEncoder", "TokenStates"]


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
        return _cut_finding(self.cut, self.limit)


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
        model: str | PathLike[str],
        *,
        name: str | None = None,
        batch: int = 32,
        device: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        special_tokens: bool = True,
    ) -> None:
        check_kind(model, (str, PathLike), "model", "Name a folder, or a model on the hub")
        model = os.fspath(model)
        self.name = (name or Path(model).name or model).strip()
        if batch < 1:
            raise ParameterError(f"the batch is {batch}", where="batch", remedy="Ask for at least one text at once")
        if not self.name:
            raise ParameterError("the encoder's name is blank", where="name", remedy="Give it a name")
        self.batch = batch
        self.multi_vector = is_multi_vector(model)
        self.model: Any = load_model(model, device, multi_vector=self.multi_vector)
        self._special = special_tokens or self.multi_vector
        self._prompts = model_prompts(self.model, query_prompt, document_prompt, where=self.name)

    def bare(self) -> Self:
        """The same model, of whose vectors those of the tokenizer's marks are left out: for a part of a query.

        A mark meets something in every document, so it would blunt one unwanted word.
        """
        other = copy.copy(self)
        other._special = self.multi_vector  # noqa: SLF001 - its own class
        return other

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
            InputError: there is no text.
            EncoderError: the model has no token states.
        """
        torch = require("torch", extra="sentence-transformers", purpose="token states")
        if not len(texts):
            raise InputError("there is no text", where=self.name, remedy="Give at least one")
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
        long: Literal["cut", "windows"] = "cut",
        dtype: Literal["float16", "float32"] = "float32",
        progress: Progress | None = None,
    ) -> EncodedTokens:
        """Turn texts into token embeddings of unit rows.

        Texts of like length are embedded together, so that little is spent on padding. While the result is
        put together it is in memory twice.

        Args:
            texts: id → text, as `askew.formats.read_texts` gives them.
            kind: ``"query"`` or ``"document"``.
            long: texts over the limit are ``"cut"``, or read in as many ``"windows"`` as they need, whose
                tokens all count: whoever excludes a word wants it seen wherever it stands.
            dtype: of the tokens; float16 halves them.
            progress: told after each batch how many texts, or windows, are done.

        Raises:
            ParameterError: there is no such kind.
            InputError: there is no text, one is empty, or no string.
            EncoderError: the model has no token states, or gives NaN or infinite values.
        """
        names, plain = list(texts), as_texts(list(texts.values()))
        _refuse_empty(dict(zip(names, plain, strict=True)), self.name)
        parts = [(place, part) for place, text in enumerate(plain) for part in self._parts(text, kind, long)]
        cut = longer_than(self.model, self.limit(kind), [prompt_for(self._prompts, kind) + part for _, part in parts])
        rows: list[list[Any]] = [[] for _ in names]
        found = self._rows([part for _, part in parts], kind, progress)
        for (place, _), part in zip(parts, found, strict=True):
            rows[place].append(part.astype(dtype))
        items = [held[0] if len(held) == 1 else np.concatenate(held) for held in rows]
        _refuse_odd(names, items, self.name)
        shortened = dict.fromkeys(names[parts[row][0]] for row in np.flatnonzero(cut))
        return EncodedTokens(
            TokenEmbeddings.from_list(names, items, encoder=self.name), tuple(shortened), self.limit(kind)
        )

    def look_over(self, texts: Mapping[str, str], *, kind: Kind) -> tuple[Finding, ...]:
        """What `encode` would say of texts, without embedding them: which are cut.

        Raises:
            InputError: there is no text, one is empty, or no string.
        """
        names, plain = list(texts), as_texts(list(texts.values()))
        _refuse_empty(dict(zip(names, plain, strict=True)), self.name)
        cut = longer_than(self.model, self.limit(kind), [prompt_for(self._prompts, kind) + text for text in plain])
        return _cut_finding([names[row] for row in np.flatnonzero(cut)], self.limit(kind))

    def save(self, folder: str) -> None:
        """Write the model, as it is now, for sentence-transformers to load."""
        save_model(self.model, folder)

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

    def _rows(self, texts: list[str], kind: Kind, progress: Progress | None) -> list[Any]:
        """(tokens, d) float32 of every text."""
        torch = require("torch", extra="sentence-transformers", purpose="token states")
        order = sorted(range(len(texts)), key=lambda place: (-len(texts[place]), place))
        items: list[Any] = [None] * len(texts)
        self.model.eval()
        for part in blocks(len(order), self.batch):
            with torch.inference_mode():
                found = self.states([texts[place] for place in order[part]], kind=kind)
                rows, mask = found.vectors.float().cpu().numpy(), found.mask.cpu().numpy()
            for place, row, kept in zip(order[part], rows, mask, strict=True):
                items[place] = row[kept]
            if progress is not None:
                progress(min(part.stop, len(order)), len(order))
        return items

    def _parts(self, text: str, kind: Kind, long: str) -> list[str]:
        """The text, or the windows it is read in: cut before a word where one begins in their second half."""
        window, prompt = self.limit(kind), prompt_for(self._prompts, kind)
        if long == "cut" or window is None or not longer_than(self.model, window, [prompt + text]).any():
            return [text]
        tokenizer = self.model.tokenizer
        if not getattr(tokenizer, "is_fast", False):
            raise ParameterError(
                "the model's tokenizer does not say where tokens lie in a text",
                where="long",
                remedy="Let long texts be cut, or use a model with a fast tokenizer",
            )
        spans = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
        most = window - len(tokenizer(prompt, verbose=False)["input_ids"])
        if most < 1:
            raise ParameterError("the prompt fills the window", where=self.name, remedy="Give a shorter prompt")
        parts, begin = [], 0
        while begin < len(spans):
            end = min(begin + most, len(spans))
            if end < len(spans):
                words = range(end, begin + most // 2, -1)
                end = next((place for place in words if text[spans[place][0] - 1].isspace()), end)
            parts.append(text[spans[begin][0] : spans[end - 1][1]])
            begin = end
        return parts

    def _features(self, texts: list[str], kind: Kind) -> dict[str, Any]:
        """The tokenizer's answer, on the model's device."""
        prompt = prompt_for(self._prompts, kind)
        if self.multi_vector:
            features = self.model.preprocess(texts, prompt=prompt or None, task=kind)
        else:  # called `tokenize` in earlier versions
            tokenize = getattr(self.model, "preprocess", None) or self.model.tokenize
            features = tokenize([prompt + text for text in texts])
        device = self.model.device
        return {name: value.to(device) if hasattr(value, "to") else value for name, value in features.items()}


def _cut_finding(cut: Sequence[str], limit: int | None) -> tuple[Finding, ...]:
    if not cut:
        return ()
    told = (
        f"{counted(len(cut), 'text is', 'texts are')} longer than the encoder takes: what comes after its {limit:,} "
        "tokens is lost"
    )
    return (Finding("cut-tokens", "warning", told, len(cut), tuple(cut[:5])),)


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


def _refuse_odd(names: Sequence[str], items: Sequence[Any], where: str) -> None:
    odd = [name for name, rows in zip(names, items, strict=True) if not np.isfinite(rows).all()]
    if odd:
        raise EncoderError(
            f"the token vectors of {name_some(odd)} hold NaN or infinite values",
            where=where,
            remedy="Check these texts and the encoder's precision (float16 overflows)",
        )
