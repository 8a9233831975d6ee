"""A function written for LLVM, and compiled for this machine: loops, slots, loads and stores, and no more.

What is here knows nothing of late interaction; `askew.late.kernels` writes its two loops with it. llvmlite is
imported where a `Writer` is made, and nowhere else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

__all__ = ["Compiled", "Function", "Slot", "Writer"]

# Passes that keep slots in registers, and code of the usual quality: more takes longer and runs no faster.
_PASSES, _QUALITY = 1, 2


@dataclass(frozen=True, eq=False)
class Compiled:
    """Functions by name, and what must live as long as they do."""

    functions: Mapping[str, Callable[..., None]]
    engine: Any


@dataclass(frozen=True, eq=False)
class Slot:
    """A variable: LLVM keeps it in a register."""

    to: Any
    place: Any
    kind: Any

    def get(self) -> Any:
        """Its value now."""
        return self.to.load(self.place, typ=self.kind)

    def set(self, value: Any) -> None:
        """Give it another."""
        self.to.store(value, self.place)


class Writer:
    """A module to which functions are added."""

    def __init__(self) -> None:
        from llvmlite import binding, ir  # noqa: PLC0415 - an extra

        self.binding: ModuleType = binding
        self.ir: ModuleType = ir
        self.module: Any = ir.Module("askew")
        self.arguments: dict[str, str] = {}

    @contextmanager
    def function(self, name: str, arguments: str) -> Iterator[Function]:
        """Write a function inside; its arguments are p for an address and i for a whole number, and none overlap."""
        self.arguments[name] = arguments
        made = Function(self, name, arguments)
        yield made
        made.finish()

    def compile(self) -> Compiled:
        """Machine code for the processor that this runs on."""
        binding = self.binding
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=_QUALITY
        )
        module = binding.parse_assembly(str(self.module))
        module.verify()
        passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=_PASSES))
        passes.getModulePassManager().run(module, passes)
        engine = binding.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        kinds = {"p": ctypes.c_void_p, "i": ctypes.c_int64}
        functions = {
            name: ctypes.CFUNCTYPE(None, *(kinds[kind] for kind in arguments))(engine.get_function_address(name))
            for name, arguments in self.arguments.items()
        }
        return Compiled(functions, engine)


class Function:
    """A function being written; `to` is llvmlite's builder, at the place where the next instruction goes."""

    def __init__(self, writer: Writer, name: str, arguments: str) -> None:
        self.ir, self.module = writer.ir, writer.module
        ir = self.ir
        self.whole, self.small, self.double = ir.IntType(64), ir.IntType(32), ir.DoubleType()
        kinds = {"p": ir.PointerType(), "i": self.whole}
        made = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [kinds[kind] for kind in arguments]), name)
        for argument, kind in zip(made.args, arguments, strict=True):
            if kind == "p":
                argument.add_attribute("noalias")
        self.arguments = made.args
        self.slots = ir.IRBuilder(made.append_basic_block())
        self.first = made.append_basic_block()
        self.to = ir.IRBuilder(self.first)

    def finish(self) -> None:
        """Close the function."""
        self.slots.branch(self.first)
        self.to.ret_void()

    def number(self, value: int) -> Any:
        """A whole number."""
        return self.ir.Constant(self.whole, value)

    def vector(self, kind: Any, width: int) -> Any:
        """The type of so many; of one, the type itself."""
        return self.ir.VectorType(kind, width) if width > 1 else kind

    def filled(self, kind: Any, width: int, value: float) -> Any:
        """A constant vector of one value."""
        return self.ir.Constant(self.vector(kind, width), [self.ir.Constant(kind, value)] * width)

    def slot(self, kind: Any, first: Any) -> Slot:
        """A variable and its first value."""
        made = Slot(self.to, self.slots.alloca(kind), kind)
        made.set(first)
        return made

    def at(self, base: Any, index: Any, kind: Any) -> Any:
        """The address of an element."""
        return self.to.gep(base, [index], source_etype=kind)

    def load(self, base: Any, index: Any, kind: Any, width: int = 1) -> Any:
        """One element, or some that stand together."""
        return self.to.load(self.at(base, index, kind), typ=self.vector(kind, width), align=self._bytes(kind))

    def store(self, value: Any, base: Any, index: Any, kind: Any) -> None:
        """Put one element or some."""
        self.to.store(value, self.at(base, index, kind), align=self._bytes(kind))

    def spread(self, value: Any, width: int) -> Any:
        """A vector of one value."""
        empty = self.ir.Constant(self.vector(value.type, width), self.ir.Undefined)
        one = self.to.insert_element(empty, value, self.ir.Constant(self.small, 0))
        return self.shuffled(one, [0] * width)

    def shuffled(self, value: Any, places: Iterable[int]) -> Any:
        """The vector of elements at some places of another."""
        held = list(places)
        return self.to.shuffle_vector(value, value, self.ir.Constant(self.vector(self.small, len(held)), held))

    def fma(self, left: Any, right: Any, total: Any) -> Any:
        """The product plus the total, rounded once."""
        kind = total.type
        name = f"llvm.fma.v{kind.count}f{8 * self._bytes(kind.element)}"
        return self.to.call(self._intrinsic(name, kind, [kind] * 3), [left, right, total])

    def prefetch(self, address: Any) -> None:
        """Ask for memory that will be read; where none is, nothing happens."""
        known = self._intrinsic("llvm.prefetch.p0", self.ir.VoidType(), [address.type, *[self.small] * 3])
        # To be read, kept in every cache, data.
        self.to.call(known, [address, *(self.ir.Constant(self.small, value) for value in (0, 3, 1))])

    @contextmanager
    def loop(self, begin: Any, end: Any, step: int = 1) -> Iterator[Any]:
        """Run what is written inside for each index from begin to below end."""
        index = self.slot(self.whole, begin)
        with self.loop_while(lambda: self.to.icmp_signed("<", index.get(), end)):
            held = index.get()
            yield held
            index.set(self.to.add(held, self.number(step)))

    @contextmanager
    def loop_while(self, holds: Callable[[], Any]) -> Iterator[None]:
        """Run what is written inside for as long as a condition holds."""
        head, inside, after = (self.to.append_basic_block() for _ in range(3))
        self.to.branch(head)
        self.to.position_at_end(head)
        self.to.cbranch(holds(), inside, after)
        self.to.position_at_end(inside)
        yield
        self.to.branch(head)
        self.to.position_at_end(after)

    def _intrinsic(self, name: str, result: Any, kinds: list[Any]) -> Any:
        known = self.module.globals.get(name)
        return known or self.ir.Function(self.module, self.ir.FunctionType(result, kinds), name)

    def _bytes(self, kind: Any) -> int:
        return 8 if kind in (self.whole, self.double) else 4
