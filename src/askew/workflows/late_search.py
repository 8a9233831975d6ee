"""Late search: token embeddings or texts against token embeddings, with wanted and unwanted parts apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from askew.data import Finding, Run, TokenEmbeddings
from askew.encoders import TokenStateEncoder, token_model
from askew.errors import EncoderMismatchError, InputError, ParameterError, counted, name_some
from askew.formats import is_token_folder, load_signed, read_texts, read_tokens
from askew.late import Match, demote, excluding, explain, search
from askew.protocols import Kind, Progress
from askew.workflows.late_encoder import LateEncoder
from askew.workflows.score import two_encoders

__all__ = ["LateResult", "search_late"]

# How many documents of a query are looked at before some go down.
_SHORTLIST = 100
_KNOWN = "Name the encoder of the tokens: --token-encoder st:PATH_OR_NAME"


@dataclass(frozen=True)
class LateResult:
    """What a late search found.

    Attributes:
        run: the best documents of every query; those without tokens are left out.
        why: query → document → what spoke for and against it; empty where nothing was unwanted.
        findings: what is odd about the data.
    """

    run: Run
    why: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Query → documents, best first, as plain values."""
        return {
            query: [
                {"id": name, "score": score, **self.why.get(query, {}).get(name, {})}
                for name, score in zip(names, scores.tolist(), strict=True)
            ]
            for query, names, scores in self.run.items()
        }


@dataclass(frozen=True)
class _Part:
    """One unwanted part of some or all queries, and its tokens in words where they were texts."""

    tokens: TokenEmbeddings
    words: Mapping[str, tuple[str, ...]]


class _Reader:
    """Reads tokens, and texts where an encoder is named or lies beside the heads; it is loaded once, when needed."""

    def __init__(
        self, spec: str | None, head: str | PathLike[str] | None, named: Callable[[str], Progress] | None
    ) -> None:
        self._heads = None if head is None else load_signed(head)
        own = None if self._heads is None else self._heads.encoder_folder
        self._model = token_model(spec) if spec is not None else None if own is None else str(own)
        self._name = self._heads.encoder if self._heads is not None and spec is None else None
        self._named = named
        self._held: TokenStateEncoder | None = None
        self.findings: list[Finding] = []

    @property
    def encoder(self) -> TokenStateEncoder:
        """The token encoder."""
        if self._model is None:
            raise ParameterError("a text needs an encoder", where="--without", remedy=_KNOWN)
        if self._held is None:
            self._held = TokenStateEncoder(self._model, name=self._name)
            if self._heads is not None:
                LateEncoder(self._heads, self._held)  # refuses another encoder than theirs
        return self._held

    def _known(self, tokens: TokenEmbeddings) -> TokenEmbeddings:
        """Stored tokens, unless they say that they are of another encoder than the heads'."""
        own = None if self._heads is None else {self._heads.encoder, self._held.name if self._held else None, None}
        if self._heads is not None and own is not None and tokens.encoder not in own:
            raise EncoderMismatchError(
                f"the tokens are by {tokens.encoder!r}, and the head was trained on {self._heads.encoder!r}",
                where=tokens.source,
                remedy="Embed with the encoder of the head, or name the head of this encoder",
            )
        return tokens

    def weigh(self, tokens: TokenEmbeddings, kind: Kind) -> TokenEmbeddings:
        """The tokens with the heads' weights, if there are heads."""
        if self._heads is None:
            return tokens
        head = self._heads.head(kind)
        return tokens if head is None else head.weigh(tokens)

    def side(self, path: Path, kind: Kind) -> tuple[TokenEmbeddings, Mapping[str, str]]:
        """The tokens of queries or documents, and their texts if they were texts."""
        if self._model is None or _holds_tokens(path):
            return self._known(read_tokens(path)), {}
        texts = read_texts(path)
        what = "queries" if kind == "query" else "documents"
        progress = None if self._named is None else self._named(f"embedding {what}")
        found = self.encoder.encode(
            texts, kind=kind, long="windows" if kind == "document" else "cut", progress=progress
        )
        self.findings.extend(found.findings)
        return found.tokens, texts

    def part(self, given: str, queries: TokenEmbeddings, wanted: Mapping[str, str]) -> _Part:
        """An unwanted part: token embeddings or texts a query by their path, or one text for all queries."""
        path = Path(given)
        if _looks_like_path(given) and not _there(path):
            raise InputError(
                "it looks like a path, and there is no such file or folder",
                where=f"--without {given}",
                remedy="Correct it; a text with a slash and no space goes into a .jsonl of a text a query",
            )
        if _holds_tokens(path) or path.suffix.lower() == ".npz":
            return _Part(read_tokens(path), {})
        texts = read_texts(path) if path.suffix.lower() == ".jsonl" else dict.fromkeys(queries.ids, given)
        empty = [name for name, text in texts.items() if not text.strip()]
        if empty:
            raise InputError(
                f"the unwanted text is empty, for {name_some(empty)}",
                where=given.strip() or "--without",
                remedy="Leave it out, or say what is unwanted",
            )
        same = [name for name, text in texts.items() if _plain(wanted.get(name, "")) == _plain(text)]
        if same:
            raise InputError(
                f"the same text is wanted and unwanted, for {name_some(same)}", where=given, remedy="Change one of them"
            )
        return self._embedded(texts, given)

    def _embedded(self, texts: Mapping[str, str], given: str) -> _Part:
        encoder = self.encoder.bare()
        once = {text: text for text in texts.values()}
        found = encoder.encode(once, kind="query")
        if found.cut:
            raise InputError(
                f"{counted(len(found.cut), 'unwanted text is', 'unwanted texts are')} longer than the {found.limit:,} "
                "tokens that the encoder sees",
                where=given if len(given) < 60 else f"{given[:60]}…",
                remedy="Shorten it: what is cut off would not be excluded",
            )
        words = {text: encoder.pieces(text, kind="query") for text in once}
        rows = [found.tokens.tokens_of(text) for text in texts.values()]
        tokens = TokenEmbeddings.from_list(list(texts), rows, encoder=encoder.name, source=given)
        return _Part(tokens, {name: words[text] for name, text in texts.items()})


def search_late(
    queries: str | PathLike[str],
    documents: str | PathLike[str],
    *,
    k: int = 10,
    without: Sequence[str] = (),
    token_encoder: str | None = None,
    head: str | PathLike[str] | None = None,
    weight: float = 0.5,
    demoted: bool = False,
    named: Callable[[str], Progress] | None = None,
) -> LateResult:
    """Search by (Signed) MaxSim, perhaps without something.

    Args:
        queries: token embeddings, see `askew.formats.read_tokens`; or texts, if an encoder is named.
        documents: likewise. Texts longer than the encoder's window are read in several.
        k: documents a query.
        without: unwanted parts, each a text for all queries, a ``.jsonl`` of a text a query, or token embeddings
            under the ids of queries.
        token_encoder: what embeds texts: ``st:PATH_OR_NAME``; a tuned encoder beside the heads needs no name.
        head: a folder of `train_late`: its heads weigh queries and documents, and not the unwanted parts, whose sign is
            given.
        weight: see `askew.late.excluding`.
        demoted: search without the unwanted parts, and move what holds them below the rest of the first 100, see
            `askew.late.demote`; the weight has no part in it.
        named: makes a progress callback for a named piece of work.

    Raises:
        ParameterError: a text and no encoder, an encoder that there is not, or a weight that is not positive.
        InputError: a part is both wanted and unwanted, empty, longer than the encoder sees, or looks like a path that
            there is not.
        EncoderMismatchError: the heads were trained on another encoder.
        AskewError: as the readers, the encoder, and `askew.late.search` do.
    """
    reader = _Reader(token_encoder, head, named)
    asked, texts = reader.side(Path(queries), "query")
    asked = reader.weigh(asked, "query")
    parts = [reader.part(given, asked, texts) for given in without]
    corpus = reader.weigh(reader.side(Path(documents), "document")[0], "document")
    strangers = (two_encoders(side, corpus) for side in (asked, *(part.tokens for part in parts)))
    findings = (*reader.findings, *next(filter(None, strangers), ()), *_without_tokens(corpus))
    if not parts:
        return LateResult(_filled(search(asked, corpus, k=k)), findings=findings)
    signed = asked
    for part in parts:  # refuses what does not fit, for both ways
        signed = excluding(signed, part.tokens, weight=weight)
    words = {name: tuple(word for part in parts for word in _words(part, name)) for name in asked.ids}
    moved: dict[str, set[str]] = {}
    if demoted:
        run = _filled(search(asked, corpus, k=max(k, _SHORTLIST)))
        for part in parts:
            told = demote(run, part.tokens, corpus, depth=_SHORTLIST)
            run = told.run
            for query, names in told.moved.items():
                moved.setdefault(query, set()).update(names)
        run = _first(run, k)
    else:
        run = _filled(search(signed, corpus, k=k))
    why = {
        query: {
            name: {
                **({"demoted": name in moved.get(query, ())} if demoted else {}),
                **_told(explain(signed, corpus, query, name), words[query]),
            }
            for name in names
        }
        for query, names, _ in run.items()
    }
    return LateResult(run, why, findings)


def _told(matches: Sequence[Match], words: tuple[str | None, ...]) -> dict[str, Any]:
    """What the wanted and the unwanted tokens add to a score, and the unwanted token that takes away most."""
    against = [match for match in matches if match.query_weight < 0]
    told: dict[str, Any] = {
        "wanted": sum(match.contribution for match in matches if match.query_weight >= 0),
        "unwanted": sum(match.contribution for match in against),
    }
    if against:
        most = min(against, key=lambda match: match.contribution)
        place = most.query_token - (len(matches) - len(words))
        told["against"] = {
            "token": most.query_token,
            "word": words[place] if place >= 0 else None,
            "document_token": most.document_token,
            "similarity": most.similarity,
        }
    return told


def _words(part: _Part, query: str) -> tuple[str | None, ...]:
    """What the unwanted tokens of a query are called; None for those that came as vectors."""
    if query not in part.tokens:
        return ()
    return part.words.get(query, (None,) * len(part.tokens.tokens_of(query)))


def _holds_tokens(path: Path) -> bool:
    try:
        return is_token_folder(path) or (path.suffix.lower() == ".npz" and path.is_file())
    except (OSError, ValueError):  # a text that no file could be called by
        return False


def _looks_like_path(given: str) -> bool:
    one_word = len(given.split()) == 1
    return (one_word and any(mark in given for mark in "/\\")) or given.lower().endswith((".jsonl", ".npz"))


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # no file could be called so
        return False


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _first(run: Run, k: int) -> Run:
    return Run(
        {query: dict(zip(names[:k], scores[:k].tolist(), strict=True)) for query, names, scores in run.items()},
        name=run.name,
    )


def _filled(run: Run) -> Run:
    """Without the documents that have no tokens, which stand at -inf."""
    return Run(
        {
            query: {name: score for name, score in zip(names, scores.tolist(), strict=True) if score > float("-inf")}
            for query, names, scores in run.items()
        },
        name=run.name,
    )


def _without_tokens(corpus: TokenEmbeddings) -> tuple[Finding, ...]:
    names = [corpus.ids[row] for row in (corpus.lengths == 0).nonzero()[0]]
    if not names:
        return ()
    told = "has no tokens and is" if len(names) == 1 else "have no tokens and are"
    message = f"{len(names):,} of {len(corpus):,} documents {told} left out"
    return (Finding("no-tokens", "warning", message, len(names), tuple(names[:5])),)
