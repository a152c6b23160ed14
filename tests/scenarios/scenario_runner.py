"""Runs a scenario in a world: applies its steps as events, and lists every expectation that is not met."""

from collections.abc import Iterator

from tests.scenarios.scenario_file import Expect, Scenario, Step
from tests.scenarios.worlds import World, WorldState


def play(scenario: Scenario, world: World) -> list[str]:
    """What went wrong, each with the number of its step; empty where everything is as expected."""
    wrong: list[str] = []
    before = world.see()
    for number, step in enumerate(scenario.steps, start=1):
        _happen(step, world)
        if step.expect is not None:
            now = world.see()
            wrong += [f"step {number}: {problem}" for problem in differences(step.expect, before, now, scenario)]
            before = now
    return wrong


def _happen(step: Step, world: World) -> None:
    if step.wait:
        world.wait(step.wait)
    for event, name in step.events():
        world.happen(event, name)
    for node, seconds in step.leave.items():
        world.leave(node, seconds)
    for node, seconds in step.notice.items():
        world.notice(node, seconds)
    world.settle()


def differences(expect: Expect, before: WorldState, now: WorldState, scenario: Scenario) -> Iterator[str]:
    yield from _states(expect, now)
    yield from _places(expect, now, scenario)
    yield from _requests(expect, now)
    yield from _moves(expect, before, now)
    yield from _deeds(expect, before, now)


def _states(expect: Expect, now: WorldState) -> Iterator[str]:
    for job in expect.running:
        if len(now.seats.get(job, ())) < max(1, now.least.get(job, 0)):
            yield f"{job} does not run: {now.waiting.get(job) or now.seats.get(job)}"
    for job, code in expect.waiting.items():
        reason = now.waiting.get(job)
        if reason is None or (code and reason.code != code):
            yield f"{job} should wait {code}: {reason}, on {now.seats.get(job)}"
    for job, words in expect.says.items():
        told = now.waiting[job].words if job in now.waiting else "it does not wait"
        yield from (f"{job} does not say {word!r}, but: {told}" for word in words if word not in told)
    for job in expect.ended:
        if job not in now.ended:
            yield f"{job} has not ended"


def _places(expect: Expect, now: WorldState, scenario: Scenario) -> Iterator[str]:
    for job, nodes in expect.seats.items():
        yield from _unless_equal(f"{job} sits on", nodes, now.seats[job].values())
    for job, nodes in expect.holds.items():
        yield from _unless_equal(f"held for {job}", nodes, now.holds.get(job, {}).values())
    for job, values in expect.domains.items():
        labels = [now.labels[node] for node in now.seats[job].values()]
        found = {label[key] for label in labels for key in scenario.topology_keys() if key in label}
        yield from _unless_equal(f"{job} sits in", values, found)
    for job, nodes in expect.avoids.items():
        yield from (f"{job} sits on {node}" for node in nodes if node in now.seats[job].values())
    for job, count in expect.members.items():
        if len(now.seats[job]) != count:
            yield f"{job} has {len(now.seats[job])} members with a seat, not {count}"


def _requests(expect: Expect, now: WorldState) -> Iterator[str]:
    if expect.asked is not None:
        yield from _unless_equal("asked to save", expect.asked, now.asked)


def _moves(expect: Expect, before: WorldState, now: WorldState) -> Iterator[str]:
    for job in expect.kept:
        yield from _unless_equal(f"moved of {job}", (), _moved(before, now, job))
    for job, members in expect.moved.items():
        yield from _unless_equal(f"moved of {job}", members, _moved(before, now, job))


def _moved(before: WorldState, now: WorldState, job: str) -> list[str]:
    was, seats = before.seats.get(job, {}), now.seats.get(job, {})
    return [member for member in {**was, **seats} if was.get(member) != seats.get(member)]


def _deeds(expect: Expect, before: WorldState, now: WorldState) -> Iterator[str]:
    if expect.victims is not None:
        victims = dict(now.victims[len(before.victims) :])
        if victims != expect.victims:
            yield f"victims {victims}, not {expect.victims}"
    if expect.swaps is not None:
        swaps: dict[str, set[str]] = {}
        for swap in now.swaps[len(before.swaps) :]:
            swaps.setdefault(swap.job, set()).add(swap.source)
        if swaps != {job: set(sources) for job, sources in expect.swaps.items()}:
            yield f"swaps {swaps}, not {expect.swaps}"
    if expect.plans is not None and now.plans - before.plans != expect.plans:
        yield f"{now.plans - before.plans} plans changed something, not {expect.plans}"


def _unless_equal(what: str, expected: object, found: object) -> Iterator[str]:
    want, have = sorted(expected), sorted(found)  # type: ignore[call-overload]
    if want != have:
        yield f"{what} {have}, not {want}"
