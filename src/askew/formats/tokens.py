"""Token embeddings as a folder: a mapped matrix, its layout, and a JSON manifest.

    TOKENS/
      manifest.json            format, counts, type, encoder, code, the ids
      tokens.safetensors       the (T, d) matrix, mapped when it is read
      layout.safetensors       offsets, (m + 1,) int64, and weights, (T,) float64, where there are any

Written to a temporary folder and renamed, so a crash leaves the old folder or the new one.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from askew._atomic import writing_folder
from askew.data import TokenEmbeddings
from askew.errors import FormatError, name_some
from askew.formats._json import id_list, json_id
from askew.formats._manifest import MANIFEST, FolderKind
from askew.formats._tensors import map_tensor, write_tensor
from askew.formats.text import unreadable

__all__ = ["is_token_folder", "read_tokens", "write_tokens"]

_TOKENS = "tokens.safetensors"
_KIND = FolderKind(
    format="askew-tokens",
    version=1,
    noun="token embeddings",
    lacking="there is no such file",
    writer="write_tokens",
    again="Write it again",
    tensors="layout.safetensors",
    checksum="layout_sha256",
    others=frozenset({_TOKENS}),
    error=FormatError,
)


def write_tokens(tokens: TokenEmbeddings, path: str | PathLike[str]) -> Path:
    """Write token embeddings as a folder, in the place of such a folder that may stand there.

    Args:
        tokens: m items; the type of the matrix is kept.
        path: the folder.

    Returns:
        The folder.

    Raises:
        OutputError: it cannot be written, or something else stands there.
        FormatError: an id holds what no list of ids can, such as a line ending, and could not be read again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     folder = write_tokens(TokenEmbeddings(["a"], np.eye(2), [0, 2]), Path(home) / "docs")
    ...     read_tokens(folder)
    TokenEmbeddings(1 items, 2 tokens × 2 float64)
    """
    folder = Path(path)
    _KIND.refuse_foreign(folder)
    for name in tokens.ids:  # what could not be read is not written
        json_id(name, str(tokens.source))
    layout: dict[str, Any] = {"offsets": tokens.offsets}
    if tokens.weights is not None:
        layout["weights"] = tokens.weights
    payload = safetensors.numpy.save(layout)
    manifest = {
        **_KIND.head(payload),
        "items": len(tokens),
        "tokens": len(tokens.tokens),
        "dim": tokens.dim,
        "dtype": tokens.dtype.name,
        "encoder": tokens.encoder,
        "code": tokens.code,
        "weights": tokens.weights is not None,
        "ids": list(tokens.ids),
    }
    with writing_folder(folder) as fresh:
        write_tensor(fresh / _TOKENS, tokens.tokens, {})
        (fresh / _KIND.tensors).write_bytes(payload)
        (fresh / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return folder


def read_tokens(path: str | PathLike[str]) -> TokenEmbeddings:
    """Read token embeddings.

    Args:
        path: a folder that `write_tokens` wrote, whose matrix stays in its file, mapped; or an ``.npz`` of
            ``ids``, ``tokens`` (T, d), ``offsets`` (m + 1,) and perhaps ``weights`` (T,), read into memory.

    Raises:
        FormatError: there are none, they are damaged, or of a later format.
        EmbeddingError: tokens, offsets or weights cannot be used.
    """
    folder = Path(path)
    if folder.suffix.lower() == ".npz" and not folder.is_dir():
        return _packed(folder)
    manifest = _KIND.read(folder)
    layout = _KIND.read_tensors(folder, manifest)
    held = map_tensor(folder / _TOKENS)
    encoder, code = (manifest.get(key) for key in ("encoder", "code"))
    if held.matrix.shape != (manifest.get("tokens"), manifest.get("dim")) or "offsets" not in layout:
        raise FormatError("the manifest and the tensors do not fit", where=folder / MANIFEST, remedy=_KIND.again)
    return TokenEmbeddings(
        id_list(json.dumps(manifest.get("ids")), f"{folder / MANIFEST} ('ids')"),
        held.matrix,
        layout["offsets"],
        weights=layout.get("weights"),
        encoder=encoder if isinstance(encoder, str) else None,
        code=code if isinstance(code, str) else None,
        source=folder,
    )


def is_token_folder(path: str | PathLike[str]) -> bool:
    """Whether a folder of token embeddings may stand at a place."""
    return (Path(path) / _KIND.tensors).is_file()


def _packed(path: Path) -> TokenEmbeddings:
    names = ("ids", "tokens", "offsets", "weights")
    try:
        held = np.load(path, allow_pickle=False)
        if isinstance(held, np.ndarray):
            raise FormatError("it is one plain array, and no npz", where=path, remedy=_KIND.again)
        with held:
            arrays = {name: held[name] for name in names if name in held.files}
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise FormatError(f"it is not an npz of plain arrays ({error})", where=path, remedy=_KIND.again) from error
    missing = [name for name in names[:3] if name not in arrays]
    if missing:
        raise FormatError(
            f"it holds no {name_some(missing)}",
            where=path,
            remedy="Save it with numpy.savez(path, ids=..., tokens=..., offsets=...)",
        )
    return TokenEmbeddings(
        arrays["ids"].tolist(), arrays["tokens"], arrays["offsets"], weights=arrays.get("weights"), source=path
    )
