"""The benchmark of the embedded cluster measures what it says it does."""

import msgspec
import pytest

from bench.embedded import api_measures, servers
from bench.embedded.__main__ import main
from bench.embedded.crowd import crowd
from bench.embedded.http_client import _parsed
from bench.embedded.load import pod


@pytest.mark.parametrize(("part", "value"), [(0.0, 1.0), (0.5, 51.0), (0.99, 100.0), (1.0, 100.0)])
def test_a_quantile_is_one_of_the_values(part: float, value: float) -> None:
    assert api_measures.quantile([float(number) for number in range(1, 101)], part) == value


@pytest.mark.parametrize(
    ("wire", "answer"),
    [
        (b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", (201, b"{}")),
        (b"HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\n{}", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", (200, b"{}")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", None),
        (b"HTTP/1.1 200 OK\r\n", None),
    ],
)
def test_an_answer_is_read_once_it_is_whole(wire: bytes, answer: tuple[int, bytes] | None) -> None:
    read = _parsed(bytearray(wire))
    assert (None if read is None else (read.status, read.body)) == answer


def test_creates_watches_and_lists_are_counted_on_a_real_server() -> None:
    with servers.ours() as running:
        figures = api_measures.creates(running, 64)
        figures |= api_measures.watching(running, 32, pace=400.0)
        figures |= api_measures.lists(running, [10], repeats=2)
        figures |= api_measures.memory(running, 10)
    assert figures["creates_per_second"] > 0
    assert 0 < figures["create_p50_ms"] <= figures["create_p99_ms"]
    assert 0 < figures["watch_p50_ms"] <= figures["watch_p99_ms"]
    assert figures["list_10_ms"] > 0
    assert figures["resident_mb_at_10_pods"] > 1


def test_a_result_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick", "--json", "--measure", "start"])
    (line,) = capsys.readouterr().out.splitlines()
    said = msgspec.json.decode(line)
    assert said["measure"] == "start"
    assert said["first_pod_seconds"] >= said["up_seconds"] > 0


def test_a_small_job_is_started_before_during_beside_and_after_a_gang_that_cannot_fit() -> None:
    figures = crowd(pods=20, starts=1)
    starts = [f"start_{when}_ms" for when in ("alone", "during_creation", "beside", "after_deletion")]
    assert all(figures[name] > 0 for name in starts)
    empty = (figures["start_alone_ms"] + figures["start_after_deletion_ms"]) / 2
    assert figures["start_beside_ratio"] == pytest.approx(figures["start_beside_ms"] / empty)
    assert figures["gang_created_seconds"] > 0
    assert figures["gang_deleted_seconds"] > 0


def test_pods_under_load_are_never_scheduled() -> None:
    assert pod("a-1")["spec"]["schedulingGates"]
