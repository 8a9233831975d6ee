"""The public surface is a list, and every name on it is documented."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import askew
from askew.operators import Term

NAMES = [
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
PACKAGES = [
    "adapters",
    "cli",
    "data",
    "encoders",
    "estimators",
    "evaluation",
    "formats",
    "geometry",
    "late",
    "linalg",
    "operators",
    "report",
    "reproduce",
    "retrieval",
    "workflows",
]
MODULES = sorted(
    found.name for found in pkgutil.walk_packages(askew.__path__, "askew.") if found.name != "askew._version"
)


def undocumented(value: type) -> Iterator[str]:
    """Public methods and properties without a docstring of their own, of a base or of the protocol `Term`."""
    for member, held in vars(value).items():
        public = inspect.isfunction(held) or isinstance(held, (property, classmethod, staticmethod))
        if public and not member.startswith("_"):
            of_protocol = getattr(Term, member, None) if value.__module__ == Term.__module__ else None
            if not inspect.getdoc(getattr(value, member)) and not inspect.getdoc(of_protocol):
                yield member


def exported(module: ModuleType) -> dict[str, object]:
    return {name: getattr(module, name) for name in getattr(module, "__all__", ())}


def test_the_root_exports_this_and_no_more() -> None:
    assert askew.__all__ == NAMES
    assert dir(askew) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_root_resolves_to_what_a_sub_package_exports(name: str) -> None:
    value = getattr(askew, name)
    assert value is getattr(askew, name)
    if name == "__version__":
        assert isinstance(value, str)
        return
    assert inspect.getdoc(value)
    home = importlib.import_module(value.__module__)
    assert value.__name__ in home.__all__
    package = importlib.import_module(".".join(value.__module__.split(".")[:2]))
    assert getattr(package, value.__name__) is value


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'askew' has no attribute 'train'"):
        _ = askew.train
    assert not hasattr(askew, "numpy")


def test_the_sub_packages_are_these() -> None:
    assert sorted(found.name for found in pkgutil.iter_modules(askew.__path__) if found.ispkg) == PACKAGES


@pytest.mark.parametrize("name", PACKAGES)
def test_no_sub_package_takes_the_name_of_a_root_function_or_a_standard_module(name: str) -> None:
    assert name not in NAMES
    assert name not in sys.stdlib_module_names


@pytest.mark.parametrize("name", MODULES)
def test_everything_exported_is_there_and_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert inspect.getdoc(module)
    assert list(dict.fromkeys(getattr(module, "__all__", ()))) == list(getattr(module, "__all__", ()))
    for label, value in exported(module).items():
        if not inspect.isclass(value) and not inspect.isfunction(value):
            continue
        assert value.__doc__, f"{name}.{label}"
        if inspect.isclass(value) and value.__module__.startswith("askew."):
            assert list(undocumented(value)) == [], f"{name}.{label}"


@pytest.mark.parametrize("name", [f"askew.{package}" for package in PACKAGES if package != "cli"])
def test_every_sub_package_lists_what_it_exports(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__
