"""Of the scheduling loop, only `control/apply/` writes to the cluster: the other parts cannot name what writes."""

import ast
from collections.abc import Iterator
from pathlib import Path

from understudy.ports import Cluster, ClusterReader

CONTROL = Path(__file__).resolve().parents[2] / "understudy" / "control"
WRITES = {name for name in vars(Cluster) if not name.startswith("_")} - {
    name for name in vars(ClusterReader) if not name.startswith("_")
}


def outside_apply() -> Iterator[Path]:
    return (path for path in sorted(CONTROL.rglob("*.py")) if path.parent.name != "apply")


def imported_from_ports(tree: ast.AST) -> set[str]:
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "understudy.ports")
    return {alias.name for node in found for alias in node.names}


def calls_on_the_cluster(tree: ast.AST) -> set[str]:
    """The methods that a module calls on something that it knows as `cluster` or `_cluster`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in WRITES:
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if name.endswith("cluster"):
                found.add(node.attr)
    return found


def test_the_write_methods_are_those_that_a_reader_lacks() -> None:
    assert {"create", "patch", "delete", "bind", "release"} == WRITES


def test_only_apply_and_the_loop_that_hands_it_over_know_the_cluster_that_can_be_written() -> None:
    assert [path.name for path in outside_apply() if "Cluster" in imported_from_ports(ast.parse(path.read_text()))] == [
        "loop.py"
    ]


def test_only_apply_calls_the_write_methods() -> None:
    assert not {
        path.name: calls for path in outside_apply() if (calls := calls_on_the_cluster(ast.parse(path.read_text())))
    }
