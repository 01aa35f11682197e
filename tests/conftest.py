"""Settings shared by all tests."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every machine and run, and no time limit an example could miss on a busy one.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
