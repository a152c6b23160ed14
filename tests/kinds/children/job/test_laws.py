"""Laws of the Job kind, whatever happens to its pods and wherever its controller is cut off."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.children.world import World
from tests.objects.documents import Document, job
from understudy.kinds.children.job.spec import TRACKING
from understudy.kinds.completion_indexes import parse_indexes

MOMENTS = st.lists(
    st.tuples(
        st.sampled_from(["succeed", "fail", "delete", "vanish", "leave", "run", "wait", "suspend", "resume", "crash"]),
        st.integers(0, 20),
    ),
    max_size=25,
)


@st.composite
def specs(draw: st.DrawFn) -> Document:
    parallelism = draw(st.integers(0, 4))
    indexed = draw(st.booleans())
    completions = draw(st.integers(0, 5)) if indexed else draw(st.none() | st.integers(0, 5))
    spec: Document = {"parallelism": parallelism, "backoffLimit": draw(st.integers(0, 3))}
    if completions is not None:
        spec["completions"] = completions
    if indexed:
        spec["completionMode"] = "Indexed"
        if draw(st.booleans()):
            spec |= {"backoffLimitPerIndex": draw(st.integers(0, 2)), "backoffLimit": 1000}
    if draw(st.booleans()):
        spec["podReplacementPolicy"] = "Failed"
    return spec


class Watched(World):
    """A world that remembers which pods ended how, and checks after every look what must always hold."""

    def __init__(self, parent: Document) -> None:
        super().__init__(parent)
        self.succeeded: set[str] = set()
        self.failed: set[str] = set()

    def befall(self, what: str, choice: int) -> None:
        names = sorted(self.live())
        name = names[choice % len(names)] if names else ""
        match what:
            case "succeed" if name:
                self.end(name)
                self.succeeded.add(name)
            case "fail" if name:
                self.end(name, code=1)
                self.failed.add(name)
            case "delete" if name:
                self.delete(name)
                self.failed.add(name)
            case "vanish" if name:
                self.gone(name)
                self.failed.add(name)
            case "leave":
                self.leave()
            case "run":
                self.run()
            case "wait":
                self.after(choice * 100)
            case "suspend" | "resume":
                self.parent["spec"]["suspend"] = what == "suspend"
            case "crash":  # in the midst of it: only some of what was wanted was done
                self.carry_out(self.wanted(), steps=choice // 3 % 4)

    def check(self) -> None:
        status, spec = self.status, self.parent["spec"]
        assert len(self.live()) <= spec["parallelism"]
        if "completions" in spec:
            assert status.get("succeeded", 0) <= max(spec["completions"], len(self.succeeded))
        assert status.get("succeeded", 0) <= len(self.succeeded)
        if not self.conditions():
            assert status.get("failed", 0) <= len(self.failed)
        done = parse_indexes(status.get("completedIndexes", ""))
        assert not done & parse_indexes(status.get("failedIndexes", ""))
        if "Complete" in self.conditions():
            assert not self.live()
        assert not {"Complete", "Failed"} <= self.conditions().keys()


def lived(spec: Document, events: list[tuple[str, int]]) -> Watched:
    world = Watched(job("law", **spec))
    world.look()
    world.check()
    for what, choice in events:
        world.befall(what, choice)
        if choice % 3:  # otherwise the next change comes before the next look
            world.look()
            world.check()
    world.look()
    world.check()
    return world


@given(specs(), MOMENTS)
def test_figures_and_bounds_hold_at_every_moment(spec: Document, events: list[tuple[str, int]]) -> None:
    lived(spec, events)


@given(specs(), MOMENTS)
def test_at_rest_it_wants_nothing(spec: Document, events: list[tuple[str, int]]) -> None:
    world = lived(spec, events)
    before = copy.deepcopy((world.parent, world.children))
    assert not world.carry_out(world.wanted())
    assert (world.parent, world.children) == before


@given(specs(), MOMENTS)
def test_every_success_of_a_plain_job_is_counted_once(spec: Document, events: list[tuple[str, int]]) -> None:
    if spec.get("completionMode") == "Indexed":
        return
    world = lived(spec, [event for event in events if event[0] not in ("delete", "vanish", "suspend")])
    if not world.conditions():
        assert world.status.get("succeeded", 0) == len(world.succeeded)


@given(specs(), MOMENTS, st.booleans())
def test_left_to_itself_it_comes_to_an_end(spec: Document, events: list[tuple[str, int]], well: bool) -> None:
    """Pods that are let run to their end, well or badly, bring every Job to its end."""
    world = lived(spec, events)
    world.parent["spec"] |= {"suspend": False, "parallelism": max(1, spec["parallelism"])}
    for _ in range(60):
        world.look()
        if world.conditions().keys() & {"Complete", "Failed"}:
            break
        world.leave()
        for name in world.live():
            world.end(name, code=0 if well else 1)
        world.after(700)
    else:
        raise AssertionError(f"after all this it stands at {world.status}")
    ended: list[Any] = [pod for pod in world.pods.values() if TRACKING in pod["metadata"]["finalizers"]]
    assert not ended
