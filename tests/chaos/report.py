"""What a chaos run has to report: what was done to the cluster, what it did, and every violation with its timeline."""

from collections import Counter
from pathlib import Path

import msgspec

from tests.chaos.judge import recording
from tests.chaos.judge.invariants import KINDS
from tests.chaos.run import Result

MOST_SHOWN = 5  # violations of one kind that are shown with their timelines


def text(result: Result) -> str:
    settings = result.settings
    shape, disk = settings.shape, settings.disk
    counts = f"{result.swaps} swaps, {result.requeues} requeues, {result.incidents} incidents"
    faults = ", ".join(f"{count} {kind}" for kind, count in result.faults.items())
    actions = ", ".join(f"{count} {action}" for action, count in sorted(result.actions.items()))
    lines = [
        "",
        f"chaos, seed {settings.seed}: {settings.seconds:g} s of faults, {result.took:.0f} s in all",
        f"  cluster      {shape.slices} slices and a spare of {shape.nodes} nodes, {shape.gpus} accelerators a node",
        f"  disk         {disk.kind}" + (f" ({disk.why})" if disk.why else ""),
        *(f"  left out     {words}" for words in _left_out(result)),
        f"  faults       {sum(result.faults.values())}: {faults}",
        f"  users        {result.jobs} jobs; {actions}",
        f"  processes    {result.starts} starts in the ledger",
        f"  writes       {result.writes} acknowledged",
        f"  scheduling   {result.preemptions} preemptions, {counts}",
        f"  at rest      {', '.join(map(str, result.waited)) or 'no'} jobs waited",
        f"  observer     {result.relists} times it had to list anew",
    ]
    if result.refusals:
        refused = Counter(result.refusals).most_common(5)
        lines += [f"  refused      {count} x {words}" for words, count in refused]
    return "\n".join([*lines, *_violations(result)])


def _left_out(result: Result) -> list[str]:
    disk = result.settings.disk
    found = [] if disk.can_be_filled else ["full disk: the cluster has no file system of its own"]
    return found if disk.can_be_slow else [*found, "slow disk: its file system is in memory"]


def _violations(result: Result) -> list[str]:
    if not result.violations:
        return ["  violations   none"]
    counts = Counter(violation.kind for violation in result.violations)
    lines = [f"  violations   {len(result.violations)}"]
    for kind, count in counts.items():
        lines += ["", f"{kind}: {count}  ({KINDS[kind]})"]
        for violation in [one for one in result.violations if one.kind == kind][:MOST_SHOWN]:
            lines += [f"  * {violation.words}", *(f"      {line}" for line in violation.timeline)]
    return lines


def keep(result: Result, folder: Path) -> Path:
    """For those who have to find out why: everything is gone when the run has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, said in result.logs.items():
        (folder / name).write_text(said)
    if result.case is not None:
        recording.write(result.case, folder)
    (folder / "faults.txt").write_text("\n".join(result.fault_lines) + "\n")
    found = [msgspec.to_builtins(violation) for violation in result.violations]
    (folder / "violations.json").write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    return folder
