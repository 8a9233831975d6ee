"""The heart of every loop that descends: AdamW, a schedule, checks that numbers stay finite, and its whole state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from askew.errors import ParameterError

__all__ = ["Descent", "check_device", "share_of_rate", "steady"]


class Descent:
    """Steps down a loss.

    Args:
        groups: parameters, and the highest learning rate of each group of them.
        decay: decoupled weight decay.
        clip: the largest norm of the gradient; 0 for none.
        warm_up: share of the steps in which the rates rise, after which they fall to 0; None for constant ones.
        total: steps there will be.
        step: steps behind us.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> descent = Descent([([weight], 0.5)], total=1)
    >>> descent.down((weight**2).sum(), epoch=1)
    1.0
    >>> descent.step, round(weight.item(), 6)
    (1, 0.5)
    """

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[Tensor], float]],
        *,
        total: int,
        decay: float = 0.0,
        clip: float = 0.0,
        warm_up: float | None = None,
    ) -> None:
        self.parameters = [part for parts, _ in groups for part in parts]
        self.rates = [rate for _, rate in groups]
        self.clip, self.warm_up, self.total, self.step = clip, warm_up, total, 0
        held = [{"params": list(parts), "lr": rate} for parts, rate in groups]
        self.optimiser = torch.optim.AdamW(held, lr=max(self.rates), weight_decay=decay, fused=True)

    def down(self, loss: Tensor, *, epoch: int) -> float:
        """One step.

        Returns:
            The loss before it.

        Raises:
            ParameterError: the loss is not finite; no parameter has moved.
        """
        value = float(loss.item())
        if not math.isfinite(value):
            raise self._diverged(f"the loss is {value}", epoch)
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * share_of_rate(self.step, self.total, self.warm_up)
        self.optimiser.zero_grad()
        loss.backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimiser.step()
        self.step += 1
        return value

    def check(self, *, epoch: int) -> None:
        """Refuse to go on with weights that are not finite: the last step has had no loss after it to tell.

        Raises:
            ParameterError: one is not.
        """
        if not all(bool(torch.isfinite(part).all()) for part in self.parameters):
            raise self._diverged("a weight is not finite", epoch)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The optimiser's moments, by the place of the parameter and their name."""
        held = self.optimiser.state_dict()["state"]
        return {
            f"{place}.{name}": value.detach().cpu().numpy().copy()
            for place, moments in held.items()
            for name, value in moments.items()
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]], step: int) -> None:
        """Go back to a state, on this device.

        Args:
            state: what `state` gave.
            step: the steps behind it.
        """
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in state.items():
            place, _, moment = name.partition(".")
            moments.setdefault(int(place), {})[moment] = torch.from_numpy(np.array(value))
        whole = self.optimiser.state_dict()
        self.optimiser.load_state_dict({**whole, "state": moments})
        self.step = step

    def _diverged(self, problem: str, epoch: int) -> ParameterError:
        return ParameterError(
            f"training diverged: {problem} at step {self.step} (epoch {epoch}), at the rate {max(self.rates):g}",
            where="rate",
            remedy="Lower the learning rate, or check the vectors; nothing was written",
        )


def share_of_rate(step: int, total: int, warm_up: float | None) -> float:
    """Of the rate at a step: a linear rise, then a linear fall to 0.

    >>> [share_of_rate(step, 4, 0.5) for step in range(4)]
    [0.0, 0.5, 1.0, 0.5]
    """
    if warm_up is None:
        return 1.0
    rise = int(warm_up * total)
    return step / rise if step < rise else (total - step) / max(1, total - rise)


def check_device(device: str) -> None:
    """Raise ParameterError if torch has no such device here."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        problem = str(error).partition("\n")[0]
        raise ParameterError(
            f"torch has no device {device!r} here ({problem})", where="device", remedy="Say 'cpu'"
        ) from None


@contextmanager
def steady(device: str) -> Iterator[None]:
    """One thread and deterministic algorithms on the CPU, and the caller's settings again afterwards.

    Raises:
        ParameterError: torch has no such device.
    """
    check_device(device)
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=strict or device == "cpu")
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(mode=strict)
