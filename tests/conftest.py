"""How much hypothesis tries: HYPOTHESIS_PROFILE is `default` (the same few every time) or `long`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile(
    "default", deadline=None, max_examples=60, derandomize=True, database=None, suppress_health_check=_SLOW
)
settings.register_profile("long", deadline=None, max_examples=20_000, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
