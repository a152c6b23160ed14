"""The note on what has no say."""

import pytest

from understudy.cli.input.snapshots import ignored_note


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (["Service"], "1 Service has no say in scheduling; skipped"),
        (["Service"] * 3 + ["ConfigMap"], "1 ConfigMap and 3 Services have no say in scheduling; skipped"),
        (
            ["NetworkPolicy"] * 2 + ["Ingress"] * 2 + ["Endpoints"] * 2,
            "2 Endpoints, 2 Ingresses and 2 NetworkPolicies have no say in scheduling; skipped",
        ),
    ],
)
def test_note(kinds: list[str], words: str) -> None:
    assert ignored_note(kinds) == words
