"""Quantities in their one way to be written."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.embedded.schema.types.values import amount_of, canonical


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0.5", "500m"), ("1000m", "1"), ("1", "1"), ("1000", "1k"), ("1500", "1500"), ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"), ("0.5Ki", "512"), (".5Gi", "512Mi"), ("2048", "2048"), ("100k", "100k"), ("0", "0"),
        ("0Gi", "0"), ("-1", "-1"), ("+5", "5"), ("1e3", "1e3"), ("12E6", "12e6"), ("0.1n", "1n"), ("5E", "5E"),
        (4, "4"), (1.0, "1"), (2.5, "2500m"), ("99999999999999999999", "9223372036854775807"),
    ],
)  # fmt: skip
def test_amounts_are_written_as_kubernetes_writes_them(written: str | int | float, meant: str) -> None:
    assert canonical(written) == meant


@pytest.mark.parametrize("nonsense", ["", "abc", "1.2.3", "1 Gi", "Gi", "1gi", "--1", "0x10", "1e", "9" * 100, True])
def test_nonsense_is_no_quantity(nonsense: str) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        canonical(nonsense)


suffixes = st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-2"])


@given(st.integers(0, 10**9), suffixes)
def test_writing_an_amount_again_changes_neither_it_nor_its_writing(number: int, suffix: str) -> None:
    once = canonical(f"{number}{suffix}")
    assert canonical(once) == once
    assert amount_of(once) == amount_of(f"{number}{suffix}")


@given(st.decimals(min_value=0, max_value=10**6, places=3))
def test_decimals_keep_their_amount(number: Decimal) -> None:
    assert amount_of(canonical(f"{number}")) == number
