"""Kubernetes quantities: every suffix, rounded up, and back into text for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.model.quantity import format_quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "cpu", "memory"),
    [
        ("4", 4000, 4),
        ("0", 0, 0),
        ("500m", 500, 1),
        ("1m", 1, 1),
        ("100u", 1, 1),
        ("1n", 1, 1),
        ("1.5", 1500, 2),
        (".5", 500, 1),
        ("5.", 5000, 5),
        ("+3", 3000, 3),
        ("-0", 0, 0),
        ("2k", 2_000_000, 2000),
        ("1M", 10**9, 10**6),
        ("1G", 10**12, 10**9),
        ("1e3", 1_000_000, 1000),
        ("1E3", 1_000_000, 1000),
        ("1e-3", 1, 1),
        ("12e+2", 1_200_000, 1200),
        ("1Ki", 1_024_000, 1024),
        ("1.5Gi", 1_610_612_736_000, 1_610_612_736),
        (2, 2000, 2),
        (0.5, 500, 1),
        (1.0, 1000, 1),
    ],
)
def test_parsing(text: str | int | float, cpu: int, memory: int) -> None:
    assert parse_quantity(text, "memory") == memory
    assert parse_quantity(text, "cpu") == cpu


@pytest.mark.parametrize(
    ("text", "bits"), [("1Mi", 20), ("1Gi", 30), ("1Ti", 40), ("1Pi", 50), ("1Ei", 60), ("0.5Ei", 59)]
)
def test_binary_suffixes(text: str, bits: int) -> None:
    assert parse_quantity(text, "memory") == 2**bits


@pytest.mark.parametrize(("text", "zeros"), [("1T", 12), ("1P", 15), ("1E", 18)])
def test_decimal_suffixes(text: str, zeros: int) -> None:
    assert parse_quantity(text, "memory") == 10**zeros


@pytest.mark.parametrize(
    "text", ["", " 1", "1 Gi", "1gi", "1K", "one", "1.2.3", "0x10", "1e", "--1", "1e1000", "nan", "inf", "٣", "1Gi\n"]
)
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text, "memory")


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="'-1' is negative"):
        parse_quantity("-1", "memory")
    with pytest.raises(ValueError, match="too large"):
        parse_quantity("16Ei", "memory")
    with pytest.raises(ValueError, match="true is not a quantity"):
        parse_quantity(True, "memory")
    assert parse_quantity(1, "memory") == 1
    with pytest.raises(ValueError, match="true is not a quantity"):  # although True == 1, and 1 is remembered by now
        parse_quantity(True, "memory")


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [
        (4000, "cpu", "4"),
        (500, "cpu", "500m"),
        (1500, "cpu", "1500m"),
        (-500, "cpu", "-500m"),
        (0, "cpu", "0"),
        (16 * 2**30, "memory", "16Gi"),
        (1536 * 2**20, "memory", "1.5Gi"),
        (1000, "memory", "1000"),
        (2**21, "hugepages-2Mi", "2Mi"),
        (8, "nvidia.com/gpu", "8"),
        (110, "pods", "110"),
    ],
)
def test_formatting(amount: int, resource: str, text: str) -> None:
    assert format_quantity(amount, resource) == text


@given(st.integers(0, 2**40), st.sampled_from(["cpu", "pods"]))
def test_what_is_written_is_read_back(amount: int, resource: str) -> None:
    assert parse_quantity(format_quantity(amount, resource), resource) == amount
