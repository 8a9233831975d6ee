"""TokenEmbeddings: what can be given, and what is refused with the item's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.data import TokenEmbeddings
from askew.errors import AskewError, DimensionError, EmbeddingError, FormatError, MatchError, OutputError
from askew.formats import is_token_folder, read_tokens, write_tokens


class Tensor:
    """What another library's tensor looks like from here."""

    def __init__(self, values: Any, dtype: str) -> None:
        self.values, self.dtype = np.asarray(values, dtype=np.float32), dtype

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(self.values, "float32")

    def numpy(self) -> Any:
        if self.dtype == "bfloat16":
            raise TypeError("numpy has no bfloat16")
        return self.values


def test_lists_padded_arrays_and_tensors_are_the_same_tokens() -> None:
    rng = np.random.default_rng(0)
    held = [rng.normal(size=(n, 3)).astype(np.float32) for n in (2, 0, 3)]
    wanted = TokenEmbeddings(["a", "b", "c"], np.concatenate(held), [0, 2, 2, 5])
    padded, mask = np.zeros((3, 4, 3), np.float32), np.zeros((3, 4))
    for row, item in enumerate(held):
        padded[row, : len(item)], mask[row, : len(item)] = item, 1
    made = [
        TokenEmbeddings.from_list(["a", "b", "c"], held),
        TokenEmbeddings.from_list(["a", "b", "c"], [item.tolist() for item in held]),
        TokenEmbeddings.from_list(["a", "b", "c"], [Tensor(item, "bfloat16") for item in held]),
        TokenEmbeddings.from_padded(["a", "b", "c"], padded, mask),
        TokenEmbeddings(["a", "b", "c"], np.asfortranarray(np.concatenate(held)), [0, 2, 2, 5]),
        wanted.take(["c", "b", "a"]).take(["a", "b", "c"]),
        wanted.masked(np.ones(5, bool)),
    ]
    for tokens in made:
        assert tokens.ids == wanted.ids
        assert np.array_equal(tokens.tokens, wanted.tokens)
        assert tokens.offsets.tolist() == [0, 2, 2, 5]
        assert tokens.peak == pytest.approx(np.linalg.norm(wanted.tokens, axis=1).max(), rel=2e-3)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-19, 1.0, 1e18, 1e30, 1e149])
def test_the_peak_is_no_less_than_the_largest_norm(scale: float) -> None:
    dtype = np.float32 if 1e-38 < scale < 1e38 else np.float64
    tokens = (np.random.default_rng(1).normal(size=(50, 7)) * scale).astype(dtype)
    peak = TokenEmbeddings(["a"], tokens, [0, 50]).peak
    largest = float(np.linalg.norm(tokens.astype(np.longdouble), axis=1).max())
    assert largest <= peak <= 1.002 * largest


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_flat_matrix_may_be_a_tensor(dtype: str) -> None:
    tokens: Any = Tensor(np.eye(2), dtype)
    assert TokenEmbeddings(["a"], tokens, [0, 2]).tokens.tolist() == [[1, 0], [0, 1]]


def flat(value: Any = 1.0, **given: Any) -> TokenEmbeddings:
    tokens = np.ones((3, 2))
    tokens[2, 1] = value
    return TokenEmbeddings(["a", "b"], given.pop("tokens", tokens), given.pop("offsets", [0, 2, 3]), **given)


@pytest.mark.parametrize(
    ("make", "kind", "told"),
    [
        (lambda: flat(np.nan), EmbeddingError, "tokens of 'b' hold NaN"),
        (lambda: flat(np.inf), EmbeddingError, "tokens of 'b' hold NaN"),
        (lambda: flat(1e200), EmbeddingError, "tokens of 'b' hold NaN, infinite or overflowing"),
        (lambda: flat(offsets=[0, 4, 3]), EmbeddingError, "go backwards at 'b'"),
        (lambda: flat(offsets=[0, 2, 2]), EmbeddingError, "run from 0 to 2, and there are 3"),
        (lambda: flat(offsets=[0.0, 2.0, 3.0]), EmbeddingError, "offsets are float64"),
        (lambda: flat(offsets=[0, 3]), EmbeddingError, "of shape \\(2,\\) for 2 ids"),
        (
            lambda: flat(weights=[1, np.nan, 1]),
            EmbeddingError,
            "1 signs or weights are NaN, infinite or above 1e\\+150, of 'a'",
        ),
        (lambda: flat(weights=[1, 1]), EmbeddingError, "shape of the weights is \\(2,\\)"),
        (lambda: flat(tokens=np.ones((3, 2), int)), EmbeddingError, "int64"),
        (lambda: TokenEmbeddings(["a", "a"], np.ones((2, 1)), [0, 1, 2]), EmbeddingError, "more than once: 'a'"),
        (lambda: TokenEmbeddings.from_list(["a", "b"], [[[1.0]], [[1.0, 2.0]]]), DimensionError, "'b' have 2 .*'a' 1"),
        (lambda: TokenEmbeddings.from_list(["a"], [[1.0]]), EmbeddingError, "'a': the array has 1 axes"),
        (
            lambda: TokenEmbeddings.from_list(["a"], [[[1.0], [1.0, 2.0]]]),
            EmbeddingError,
            "'a': the rows do not form an",
        ),
        (lambda: TokenEmbeddings.from_list(["a"], None), EmbeddingError, "items are a NoneType"),  # type: ignore[arg-type]
        (lambda: TokenEmbeddings.from_list(["a"], [[[1.0]]], weights=3), EmbeddingError, "weights are a int"),  # type: ignore[arg-type]
        (lambda: flat(weights=[1e200, 1, 1]), EmbeddingError, "above 1e\\+150, of 'a'"),
        (lambda: flat(weights=["x", "y", "z"]), EmbeddingError, "weights are str"),
        (lambda: flat(offsets=[[0], [1, 2]]), EmbeddingError, "do not form an array"),
        (lambda: TokenEmbeddings.from_list(["a"], []), EmbeddingError, "1 ids for 0 items"),
        (
            lambda: TokenEmbeddings.from_list(["a"], [[[1.0]]], weights=[[1, 1]]),
            EmbeddingError,
            "'a': the shape of the weights",
        ),
        (lambda: TokenEmbeddings.from_padded(["a"], np.ones((1, 2, 3)), [[1]]), EmbeddingError, "shape of the mask is"),
        (lambda: TokenEmbeddings.from_padded(["a"], np.ones((1, 2, 3)), [[1, 2]]), EmbeddingError, "other values"),
        (lambda: TokenEmbeddings.from_padded(["a"], np.ones((2, 3))), EmbeddingError, "2 axes"),
        (lambda: flat().masked([True]), EmbeddingError, "shape of the mask is \\(1,\\)"),
        (lambda: flat().masked([[1], [1]]), EmbeddingError, "shape of the mask is \\(2, 1\\)"),
        (lambda: flat().tokens_of("z"), MatchError, "'z'"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_id(make: Any, kind: type[AskewError], told: str) -> None:
    with pytest.raises(kind, match=told):
        make()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("weights", [None, [1.0, -0.5, 2.0]])
def test_a_folder_reads_back_the_same_and_mapped(tmp_path: Path, dtype: str, weights: Any) -> None:
    tokens = flat(tokens=np.arange(6).reshape(3, 2).astype(dtype), weights=weights, encoder="demo")
    folder = write_tokens(tokens, tmp_path / "docs")
    for _ in range(2):  # the second time it takes the place of the first
        back = read_tokens(write_tokens(tokens, folder))
    assert is_token_folder(folder)
    assert isinstance(back.tokens, np.memmap)
    assert (back.ids, back.encoder, back.dtype) == (tokens.ids, "demo", np.dtype(dtype))
    assert np.array_equal(back.tokens, tokens.tokens)
    assert np.array_equal(back.offsets, tokens.offsets)
    assert (back.weights is None) == (weights is None)
    if back.weights is not None:
        assert back.weights.tolist() == weights


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("manifest.json", "{}", "not the manifest of token embeddings"),
        ("manifest.json", "[", "not JSON"),
        ("manifest.json", '{"format": "askew-tokens", "format_version": 9}', "has format 9"),
        ("layout.safetensors", "x", "checksum differs"),
        ("tokens.safetensors", "x", "not a safetensors file"),
    ],
)
def test_a_damaged_folder_is_told(tmp_path: Path, file: str, content: str, told: str) -> None:
    folder = write_tokens(flat(), tmp_path / "docs")
    (folder / file).write_text(content)
    with pytest.raises(FormatError, match=told):
        read_tokens(folder)


@pytest.mark.parametrize("name", ["\n\t", "\ud800"])
def test_ids_that_could_not_be_read_are_not_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match="the id"):
        write_tokens(TokenEmbeddings([name], np.eye(1), [0, 1]), tmp_path / "docs")
    assert not (tmp_path / "docs").exists()


def test_nothing_else_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="other things than token embeddings"):
        write_tokens(flat(), tmp_path)
    with pytest.raises(FormatError, match=r"manifest\.json"):
        read_tokens(tmp_path / "nowhere")


def test_an_npz_of_plain_arrays_is_read(tmp_path: Path) -> None:
    file = tmp_path / "docs.npz"
    np.savez(file, ids=["a", "b"], tokens=np.ones((3, 2)), offsets=[0, 2, 3], weights=[1, -1, 1])
    tokens = read_tokens(file)
    assert (tokens.ids, tokens.lengths.tolist()) == (("a", "b"), [2, 1])
    np.savez(file, ids=["a", "b"], tokens=np.ones((3, 2)))
    with pytest.raises(FormatError, match="holds no 'offsets'"):
        read_tokens(file)
    np.save(tmp_path / "one.npy", np.eye(2))
    (tmp_path / "one.npy").replace(file)
    with pytest.raises(FormatError, match="one plain array"):
        read_tokens(file)
    file.write_text("x")
    with pytest.raises(FormatError, match="not an npz"):
        read_tokens(file)
