"""The command line of mpirun, as people write it for Open MPI."""

import shlex

import pytest

from understudy.embedded.mpi.options import BadOptions, Options, parse_options


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("train", Options(("train",))),
        ("tail -f /dev/null", Options(("tail", "-f", "/dev/null"))),
        ("-np 4 train", Options(("train",), processes=4)),
        ("-n 4 train", Options(("train",), processes=4)),
        ("--np 4 train", Options(("train",), processes=4)),
        ("--np=4 train", Options(("train",), processes=4)),
        ("-H a,b:2 -host c train", Options(("train",), hosts=("a", "b:2", "c"))),
        ("--hostfile f train", Options(("train",), host_file="f")),
        ("-machinefile f train", Options(("train",), host_file="f")),
        ("--mca orte_default_hostfile f train", Options(("train",), host_file="f")),
        ("-npernode 2 train", Options(("train",), per_node=2)),
        ("-N 2 train", Options(("train",), per_node=2)),
        ("--map-by ppr:3:node train", Options(("train",), per_node=3)),
        ("--map-by node train", Options(("train",), by_node=True)),
        ("--map-by slot:PE=4 train", Options(("train",))),
        ("--map-by :OVERSUBSCRIBE train", Options(("train",), oversubscribe=True)),
        ("-x A -x B=1 train", Options(("train",), variables=("A", "B=1"))),
        ("-mca pml ob1 --mca btl ^openib train", Options(("train",), parameters={"pml": "ob1", "btl": "^openib"})),
        ("--allow-run-as-root -bind-to none --report-bindings train", Options(("train",))),
        ("-wdir /data train", Options(("train",), folder="/data")),
        ("-- -np", Options(("-np",))),
        ("--merge-stderr-to-stdout --timeout 5 train", Options(("train",), merge_output=True, timeout=5)),
        ("--version", Options(asks="version")),
    ],
)
def test_valid_options(line: str, expected: Options) -> None:
    assert parse_options(shlex.split(line)) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "there is no command"),
        ("-np 4", "there is no command"),
        ("--frobnicate train", "option --frobnicate is not known here"),
        ("-np", "option -np wants a value"),
        ("-np many train", "'many' is not a whole number"),
        ("-np 0 train", "'0' is not a whole number"),
        ("-mca pml", "option -mca wants a name and a value"),
        ("--map-by ppr:2:socket train", "only ppr:N:node"),
        ("-np 1 a : -np 1 b", "joined by ':'"),
    ],
)
def test_invalid_options(line: str, words: str) -> None:
    with pytest.raises(BadOptions, match=words):
        parse_options(shlex.split(line))
