"""A picture has a line a domain, and shows who is on the way in or out."""

from msgspec.structs import replace

from tests.objects.documents import MADE, MADE_AT, jobset, jobset_pod, node, replicated_job
from understudy.cli.demo.drawing import draw_domains
from understudy.control.view.cluster_view import ClusterView
from understudy.kinds.decoding import decode
from understudy.model.nodes import Health, Verdict
from understudy.model.snapshot import Snapshot


def seen() -> Snapshot:
    view = ClusterView()
    racks = {"a": "r1", "b": "r1", "c": "r2", "d": "r2"}
    pods = [
        jobset_pod("j", "job", 0, 0, "a", suffix="runs", meta={"uid": "0"}),
        jobset_pod("j", "job", 0, 1, "b", suffix="comes", meta={"uid": "1"}),
        jobset_pod("j", "job", 0, 2, "c", suffix="goes", meta={"uid": "2", "deletionTimestamp": MADE}),
    ]
    nodes = [node(name, meta={"labels": {"rack": rack}}) for name, rack in racks.items()]
    for document in (*nodes, node("elsewhere"), jobset("j", replicated_job("job", 1, 3)), *pods):
        view.put(decode(document))
    return view.snapshot(MADE_AT)


def test_who_comes_has_a_mark_before_the_name_and_who_goes_behind() -> None:
    assert draw_domains(seen(), "rack", {"j-job-0-1-comes"}) == ["r1  |  j   |> j   |", "r2  |  j  >|      |"]


def test_a_lost_node_is_drawn_dead_even_with_pods_on_it() -> None:
    before = seen()
    dead = replace(before.nodes["c"].node, health=Health(Verdict.LOST, "it died"))
    assert draw_domains(before.updated(nodes=[dead]), "rack")[1] == "r2  | DEAD |      |"
