"""Does the joint choice find the form of a model where half of the directions are turned, and what is that worth?

x = U z + e and y = V z + e' in 32 dimensions, 8 of them with signal; V is U with 4 columns turned by 1.2 rad. The true
separation of a fit M on all n pairs is ⟨M, U Vᵀ⟩ / ‖M‖. Run: python benchmarks/partial_model.py
"""

from __future__ import annotations

import numpy as np

from askew.geometry import Form, RelevanceRows, choose_form
from askew.geometry.forms import partial_fits
from askew.geometry.halving import spectra_of
from askew.linalg.fixed import Float64Array

RANKS, FRACTIONS, SEEDS, COUNTS = (2, 4, 6, 8, 12, 16), (0.25, 0.5, 0.75), 10, (128, 256, 512, 1024)


def drawn(count: int, seed: int) -> tuple[RelevanceRows, Float64Array]:
    rng = np.random.default_rng([seed, count])
    basis = np.linalg.qr(rng.normal(size=(32, 16)))[0]
    turned = basis[:, :8].copy()
    turned[:, :4] = np.cos(1.2) * basis[:, :4] + np.sin(1.2) * basis[:, 8:12]
    z = rng.normal(size=(count, 8))
    x = z @ basis[:, :8].T + rng.normal(size=(count, 32))
    y = z @ turned.T + rng.normal(size=(count, 32))
    return RelevanceRows(tuple(map(str, range(count))), x, y), basis[:, :8] @ turned.T


def true_separation(form: Form, rows: RelevanceRows, truth: Float64Array) -> float:
    every = np.arange(len(rows))
    spectra = spectra_of(rows, every, largest=RANKS[-1])
    ((query, document),) = partial_fits(rows, every, spectra, rank=form.rank, untied=[form.untied])
    fit = query.T @ document
    return float(np.sum(fit * truth) / np.linalg.norm(fit))


def main() -> None:
    print("| n | chosen: rank, untied (times) | lead held out (s.e.) | true: shared | dual | chosen | gain (s.e.) |")
    print("|---|---|---|---|---|---|---|")
    for count in COUNTS:
        forms: dict[str, int] = {}
        leads, errors, truths = [], [], []
        for seed in range(SEEDS):
            rows, truth = drawn(count, seed)
            found = choose_form(rows, ranks=RANKS, fractions=FRACTIONS)
            name = f"{found.chosen.rank}, {found.chosen.untied}"
            forms[name] = forms.get(name, 0) + 1
            leads.append(found.lead or 0.0)
            errors.append(found.standard_error or 0.0)
            ends = [
                max((form for form in found.forms if form.family == family), key=found.separation)
                for family in ("shared", "dual")
            ]
            truths.append([true_separation(form, rows, truth) for form in (*ends, found.chosen, found.whole)])
        shared, dual, chosen, whole = np.array(truths).T
        gain, error = (chosen - whole).mean(), (chosen - whole).std(ddof=1) / np.sqrt(SEEDS)
        often = "; ".join(f"{name} ({times})" for name, times in sorted(forms.items(), key=lambda one: -one[1]))
        print(
            f"| {count:,} | {often} | {np.mean(leads):+.3f} ({np.mean(errors):.3f}) | {shared.mean():.3f} "
            f"| {dual.mean():.3f} | {chosen.mean():.3f} | {gain:+.3f} ({error:.3f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
