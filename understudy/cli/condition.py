"""How clusters are doing, as text for people and JSON for programs."""

from collections.abc import Iterator, Sequence

import msgspec

from understudy.cli.moments import span
from understudy.embedded.clusters.process_lock import SUPERVISOR
from understudy.embedded.clusters.report import DOWN, ClusterReport

_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def as_text(reports: Sequence[ClusterReport], now: float) -> str:
    if not reports:
        return "There is no cluster; `understudy up` makes one.\n"
    return "\n".join("".join(f"{line}\n" for line in _lines(report, now)) for report in reports)


def as_json(reports: Sequence[ClusterReport], now: float) -> str:
    documents = []
    for report in reports:
        document = msgspec.to_builtins(report)
        document["parts"] = {
            part: found and {"pid": found.pid, "seconds": round(now - found.started, 3)}
            for part, found in report.parts.items()
        }
        documents.append(document)
    return msgspec.json.format(msgspec.json.encode({"clusters": documents})).decode() + "\n"


def _lines(report: ClusterReport, now: float) -> Iterator[str]:
    yield f"{report.name}: {report.state}"
    if report.state != DOWN:
        yield f"  server      {report.server}"
        yield f"  nodes       {_nodes(report)}"
        if report.pods is not None:
            yield f"  pods        {_pods(report)}"
    else:
        yield f"  nodes       {report.nodes}"
    yield f"  kubeconfig  {report.kubeconfig}"
    yield f"  stored      {_size(report.stored_bytes)}"
    if report.state != DOWN:
        yield f"  parts       {', '.join(_parts(report, now))}"
    if report.state != DOWN and report.parts[SUPERVISOR] is None:
        yield "  note        nobody looks after its parts; `understudy up` takes over"


def _nodes(report: ClusterReport) -> str:
    if report.ready_nodes is None:
        return f"unknown: {report.trouble}"
    return f"{report.ready_nodes} of {report.nodes} ready"


def _pods(report: ClusterReport) -> str:
    return ", ".join(f"{count} {phase.lower()}" for phase, count in (report.pods or {}).items()) or "none"


def _parts(report: ClusterReport, now: float) -> Iterator[str]:
    for part, found in report.parts.items():
        yield f"{part} {f'{found.pid} ({span(now - found.started)})' if found else 'is not running'}"


def _size(count: int) -> str:
    for size, unit in _SIZES:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
