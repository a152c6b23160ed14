"""These tests run when they are named: `make test-train`."""

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """They install a framework of 200 MB, so the suite that needs nothing but Python goes without them."""
    return None if any("tests/train/frameworks" in str(given) for given in config.invocation_params.args) else True
