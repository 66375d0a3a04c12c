"""Hypothesis profiles: `ci` (25 examples), `dev` (200), `long` (5000).

The environment variable AGO_HYPOTHESIS_PROFILE selects one.
"""

import os

from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "ci",
    max_examples=25,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=_SLOW,
)
settings.register_profile(
    "dev", max_examples=200, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.register_profile(
    "long", max_examples=5000, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.load_profile(os.environ.get("AGO_HYPOTHESIS_PROFILE", "ci"))
