"""Laws of the training kinds, whatever happens to their pods and wherever their controller is cut off."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.children.training.documents import KINDS, Training, role
from tests.objects.documents import Document

HAPPENINGS = ["succeed", "fail", "kill", "delete", "disrupt", "vanish", "leave", "run", "restart", "wait"]
MOMENTS = st.lists(
    st.tuples(st.sampled_from([*HAPPENINGS, "suspend", "resume", "crash"]), st.integers(0, 20)), max_size=25
)
POLICIES = st.sampled_from(["", "Never", "OnFailure", "Always", "ExitCode"])
FINAL = {"Succeeded", "Failed"}


@st.composite
def jobs(draw: st.DrawFn) -> "Watched":
    kind = draw(st.sampled_from(sorted(KINDS)))
    roles = {"Worker": role(draw(st.integers(1, 3)), draw(POLICIES))}
    if kind != "JAXJob" and (kind == "XGBoostJob" or draw(st.booleans())):
        roles["Master"] = role(1, draw(POLICIES))
    policy: Document = {"cleanPodPolicy": draw(st.sampled_from(["None", "Running", "All"]))}
    if draw(st.booleans()):
        policy["backoffLimit"] = draw(st.integers(0, 3))
    return Watched(kind, roles, policy, spread=draw(st.booleans()))


class Watched(Training):
    """Remembers what befell its pods, and checks after every look what must always hold."""

    def __init__(self, kind: str, roles: dict[str, Document], policy: Document, spread: bool) -> None:
        self.fallen = 0
        self.ended: list[Document] = []
        super().__init__(kind, roles, policy, spread)

    def befall(self, what: str, choice: int) -> None:
        names = sorted(self.live())
        name = names[choice % len(names)] if names else ""
        match what:
            case "succeed" if name:
                self.finish(name)
            case "fail" | "kill" if name:
                self.fallen += 1
                self.finish(name, 1 if what == "fail" else 137)
            case "delete" if name:
                self.delete(name)
            case "disrupt" if name:
                self.disrupt(name)
            case "vanish" if name:
                self.gone(name)
            case "restart" if name:
                self.restarted(name, choice)
            case "leave":
                self.leave()
            case "run":
                self.run()
            case "wait":
                self.after(choice * 10)
            case "suspend" | "resume":
                self.parent["spec"]["runPolicy"]["suspend"] = what == "suspend"
            case "crash":  # in the midst of it: only some of what was wanted was done
                self.carry_out(self.wanted(), steps=choice // 3 % 4)

    def check(self) -> None:
        states, spec = self.states(), self.parent["spec"]
        wanted = sum(one["replicas"] for one in spec[KINDS[self.parent["kind"]].field].values())
        assert len(self.live()) <= wanted
        assert len(states) == len(set(states))
        assert not set(states) >= FINAL
        assert not {"Running", "Restarting"} <= set(states)
        assert not (FINAL | {"Suspended"}) & set(states) or "Running" not in states
        assert self.status.get("restarts", 0) <= self.fallen
        assert ("completionTime" in self.status) is bool(FINAL & set(states))
        if spec["runPolicy"].get("suspend") and not FINAL & set(states):
            assert not self.live()
            assert not self.services
        if self.ended:
            assert [one for one in self.status["conditions"] if one["type"] in FINAL] == self.ended
        self.ended = [one for one in self.status["conditions"] if one["type"] in FINAL]


def live_through(world: Watched, events: list[tuple[str, int]]) -> Watched:
    world.check()
    for what, choice in events:
        world.befall(what, choice)
        if choice % 3:  # otherwise the next change comes before the next look
            world.look()
            world.check()
    world.look()
    world.check()
    return world


@given(jobs(), MOMENTS)
def test_bounds_hold_at_every_moment_and_an_end_is_final(world: Watched, events: list[tuple[str, int]]) -> None:
    live_through(world, events)


@given(jobs(), MOMENTS)
def test_at_rest_it_wants_nothing(world: Watched, events: list[tuple[str, int]]) -> None:
    live_through(world, events)
    before = copy.deepcopy((world.parent, world.children))
    assert not world.carry_out(world.wanted())
    assert not world.wanted().notes
    assert (world.parent, world.children) == before


@given(jobs(), MOMENTS)
def test_what_the_cluster_does_to_it_never_costs_it_anything(world: Watched, events: list[tuple[str, int]]) -> None:
    harmless = ("disrupt", "leave", "run", "wait", "suspend", "resume", "crash")
    live_through(world, [event for event in events if event[0] in harmless])
    assert "Failed" not in world.states()
    assert "restarts" not in world.status


@given(jobs(), MOMENTS)
def test_let_be_it_comes_to_an_end(world: Watched, events: list[tuple[str, int]]) -> None:
    """Whatever happened before: once its pods do their work, every job ends."""
    live_through(world, events)
    world.parent["spec"]["runPolicy"]["suspend"] = False
    for _ in range(10):
        world.after(60)
        world.look()
        if FINAL & set(world.states()):
            return
        world.leave()
        world.look()
        world.run()
        world.look()
        for name in world.live():
            world.finish(name)
    raise AssertionError(f"after all this it stands at {world.status}")
