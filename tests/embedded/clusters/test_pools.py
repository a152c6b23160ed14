"""Pools that cannot be are refused by field, with the fix."""

from typing import Any

import msgspec
import pytest

from understudy.embedded.clusters.pools import BadPool, Pool, Taint, check_pools, parse_taint

SLICES: dict[str, Any] = {"count": 4, "topology": {"key": "pool", "size": 2}}


def pool(**fields: Any) -> Pool:
    return msgspec.convert({"name": "p", **fields}, Pool)


def topology(**fields: Any) -> dict[str, Any]:
    return {**SLICES, "topology": {**SLICES["topology"], **fields}}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"name": "Big Nodes"}, "pools[0].name: 'Big Nodes' is no name"),
        ({"name": "a.b"}, "pools[0].name: 'a.b' is no name"),
        ({"count": 0}, "pools[0].count: 0 nodes are none"),
        ({"count": 1_000_000}, "pools[0].count: 1000000 nodes; 10000 at most"),
        ({"cpu": "many"}, "pools[0].cpu: 'many' is no amount; write 8 or 7500m"),
        ({"cpu": 0}, "pools[0].cpu: 0 is no amount"),
        ({"memory": "-1Gi"}, "pools[0].memory: '-1Gi' is no amount; write 64Gi"),
        ({"pods": 0}, "pools[0].pods: a node that takes 0 pods takes none"),
        ({"accelerators": {"gpu": 1}}, "pools[0].accelerators.gpu: no name of a resource; write DOMAIN/NAME"),
        ({"accelerators": {"nvidia.com/gpu": 0}}, "pools[0].accelerators.nvidia.com/gpu: 0 of them are none"),
        ({"labels": {"a b": "c"}}, "pools[0].labels.a b: no name of a label"),
        ({"labels": {"a": "b c"}}, "pools[0].labels.a: 'b c' is no value of a label"),
        ({"labels": {"a": "x" * 64}}, "pools[0].labels.a: "),
        ({"instanceType": "big one"}, "pools[0].instanceType: "),
        ({"role": "a/b"}, "pools[0].role: "),
        ({"taints": ["spot"]}, "pools[0].taints[0]: write KEY=VALUE:EFFECT"),
        ({"taints": ["a=b:Never"]}, "pools[0].taints[0]: write KEY=VALUE:EFFECT"),
        ({"taints": [{"key": "", "effect": "NoSchedule"}]}, "pools[0].taints[0]: "),
        (topology(key="a b"), "pools[0].topology.key: 'a b' is no name of a label"),
        (topology(size=0), "pools[0].topology.size: 0 nodes are no domain"),
        (topology(size=3), "pools[0].topology.size: 4 nodes do not make whole domains of 3"),
        (topology(names=["a"]), "pools[0].topology.names: 1 names for 2 domains"),
        (topology(names=["a", "a"]), "pools[0].topology.names: one of them stands twice"),
        (topology(names=["a", "B"]), "pools[0].topology.names[1]: 'B' is no name"),
        ({"count": 3, "names": ["a"]}, "pools[0].names: 1 of them for 3 nodes"),
        ({"names": ["a_b"]}, "pools[0].names[0]: 'a_b' is no name of a node"),
        ({"addresses": ["1.2.3.4", "1.2.3.5"]}, "pools[0].addresses: 2 of them for 1 nodes"),
        (
            {"notices": {"source": "ibm"}},
            "pools[0].notices.source: 'ibm' is no cloud whose notices are known",
        ),
        (
            {"notices": {"source": "aws", "endpoint": "127.0.0.1:80"}},
            "pools[0].notices.endpoint: '127.0.0.1:80' is no address of a metadata server; write http://HOST:PORT",
        ),
        ({"addresses": ["no address"]}, "pools[0].addresses[0]: 'no address' is no address"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadPool) as caught:
        check_pools([pool(**fields)])
    assert str(caught.value).startswith(complaint)


def test_no_pools_two_of_one_name_or_too_many_nodes() -> None:
    with pytest.raises(BadPool, match="pools: there is none"):
        check_pools([])
    with pytest.raises(BadPool, match=r"pools\[1\]\.name: p is taken"):
        check_pools([pool(), pool()])
    with pytest.raises(BadPool, match="pools: 12000 nodes; 10000 at most"):
        check_pools([pool(count=6000), pool(name="q", count=6000)])


def test_a_taint_as_kubectl_writes_it() -> None:
    assert parse_taint("a.b/c=d:NoSchedule") == Taint("a.b/c", "NoSchedule", "d")
    assert parse_taint("a:NoExecute") == Taint("a", "NoExecute")
