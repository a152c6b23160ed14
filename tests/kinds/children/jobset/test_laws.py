"""Laws of the JobSet kind, whatever becomes of its Jobs and wherever its controller is cut off."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.children.world import World, moment
from tests.objects.documents import Document, jobset, replicated_job
from understudy.kinds.children.jobset.spec import ATTEMPT

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["complete", "fail", "run", "suspend", "resume", "vanish", "hold", "let go", "crash"]),
        st.integers(0, 20),
    ),
    max_size=25,
)


@st.composite
def jobsets(draw: st.DrawFn) -> Document:
    groups = [replicated_job(name, draw(st.integers(0, 3)), pods=2) for name in ("a", "b")[: draw(st.integers(1, 2))]]
    document = jobset("law", *groups)
    if draw(st.booleans()):
        policy: Document = {"maxRestarts": draw(st.integers(0, 2))}
        policy["restartStrategy"] = draw(st.sampled_from(["Recreate", "BlockingRecreate"]))
        action = draw(st.none() | st.sampled_from(["FailJobSet", "RestartJob", "RestartJobSet"]))
        policy["rules"] = [{"action": action}] if action else []
        document["spec"]["failurePolicy"] = policy
    if draw(st.booleans()):
        document["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    return document


def befall(world: World, what: str, choice: int) -> None:
    names = sorted(world.jobs)
    name = names[choice % len(names)] if names else ""
    match what:
        case "complete" | "fail" if name and not world.jobs[name].get("status", {}).get("conditions"):
            kind = "Complete" if what == "complete" else "Failed"
            condition = {"type": kind, "status": "True", "reason": "x", "lastTransitionTime": moment(world.now)}
            world.jobs[name]["status"] = {"conditions": [condition]}
        case "run" if name and not world.jobs[name].get("status", {}).get("conditions"):
            world.jobs[name]["status"] = {"active": 2, "ready": 2}
        case "suspend" | "resume":
            world.parent["spec"]["suspend"] = what == "suspend"
        case "vanish" if name:
            del world.jobs[name]
        case "hold" if name and "deletionTimestamp" not in world.jobs[name]["metadata"]:
            world.jobs[name]["metadata"]["finalizers"] = ["foregroundDeletion"]
        case "let go":
            for each in names:
                world.jobs[each]["metadata"]["finalizers"] = []
                if "deletionTimestamp" in world.jobs[each]["metadata"]:
                    del world.jobs[each]
        case "crash":
            world.carry_out(world.wanted(), steps=choice // 3 % 4)
    world.after(1)


def check(world: World) -> None:
    spec, status = world.parent["spec"], world.status
    wanted = {f"law-{g['name']}-{i}" for g in spec["replicatedJobs"] for i in range(g["replicas"])}
    assert set(world.jobs) <= wanted
    limit = spec.get("failurePolicy", {}).get("maxRestarts", 0)
    assert status.get("restartsCountTowardsMax", 0) <= limit
    assert status["restarts"] <= limit
    assert not {"Completed", "Failed"} <= world.conditions().keys()
    for job in world.jobs.values():
        finished = job.get("status", {}).get("conditions")
        if "deletionTimestamp" not in job["metadata"] and not finished and not status.get("terminalState"):
            assert job["metadata"]["labels"][ATTEMPT] == str(status["restarts"])
            assert job["spec"]["suspend"] or not spec["suspend"]


@given(jobsets(), EVENTS)
def test_bounds_hold_and_at_rest_it_wants_nothing(document: Document, events: list[tuple[str, int]]) -> None:
    world = World(document)
    world.look()
    for what, choice in events:
        befall(world, what, choice)
        if choice % 3:
            world.look()
            check(world)
    world.look()
    check(world)
    before = copy.deepcopy((world.parent, world.children))
    assert not world.carry_out(world.wanted())
    assert (world.parent, world.children) == before


@given(jobsets(), EVENTS, st.booleans())
def test_left_to_itself_it_comes_to_an_end(document: Document, events: list[tuple[str, int]], well: bool) -> None:
    world = World(document)
    world.look()
    for what, choice in events:
        befall(world, what, choice)
    world.parent["spec"]["suspend"] = False
    if not any(group["replicas"] for group in world.parent["spec"]["replicatedJobs"]):
        return
    for _ in range(40):
        world.look()
        if world.status.get("terminalState"):
            break
        befall(world, "let go", 0)
        for number in range(len(world.jobs)):
            befall(world, "complete" if well else "fail", number)
    assert world.status["terminalState"] in ("Completed", "Failed")
