"""Why a job is where it is, in sentences: from its status, what its pods and events say, and what was noted on it."""

import re
from collections.abc import Iterator, Sequence

from understudy.cli.complaint import listed
from understudy.cli.durations import short
from understudy.cli.jobs.seen import SeenEvent
from understudy.cli.jobs.statuses import FAILED, PENDING, QUEUING, RUNNING, SUCCEEDED, true_condition
from understudy.cli.jobs.story import BEGINNINGS, last_story
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.moments import moment
from understudy.kinds.annotations import HOLDS, PREEMPTED_FOR

WRITE_REFUSED = "WriteRefused"  # the last word on pods that were to be seated, and could not
_SHOWN = 3
_ENDS = ("Succeeded", "Complete", "Completed", "Failed")
_UNTIL = re.compile(r"until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
_HELD = re.compile(r"held by (\S+), (\d+ seats?): (.*)")


def sentences(job: JobSummary, events: Sequence[SeenEvent], now: float) -> list[str]:
    said = [*_state(job, now), *(_foreseen(words, now) for words in _waiting(job, events, now))]
    return [*said, *_notes(job), *last_story(job, events, now)]


def _state(job: JobSummary, now: float) -> Iterator[str]:
    running = [one for one in job.instances if one.status == "RUNNING" and not one.leaving]
    count = f"{len(running)} of {len(job.instances)} instances"
    match job.status:
        case "RUNNING":
            nodes = listed(list(dict.fromkeys(one.shown_node for one in running)))
            yield f"{job.title} runs: {count}{' on ' * bool(nodes)}{nodes}, for {short(job.duration(now))}."
        case "PENDING":
            yield f"{job.title} is pending, {short(job.age(now))} after it was made: {count} run."
            yield from _starting(job)
        case "QUEUING":
            yield f"{job.title} waits to go on: it gave up its seats, and is resumed by itself when it fits."
        case "SUSPENDED" if job.queue:
            yield f"{job.title} waits in Kueue's queue {job.queue}, which keeps it suspended until it is its turn."
        case "SUSPENDED":
            yield f"{job.title} is suspended by its owner; `understudy resume {job.name}` lets it go on."
        case _:
            yield from _end(job, now)


def _starting(job: JobSummary) -> Iterator[str]:
    """Those that have a node and do not run yet: what their containers wait for."""
    for one in [one for one in job.instances if one.status == "PENDING" and one.node][:_SHOWN]:
        yield f"{one.name} has its seat on {one.shown_node} and starts: {one.detail}."
    if not job.instances:
        yield "It has no pods yet."


def _end(job: JobSummary, now: float) -> Iterator[str]:
    word = "succeeded" if job.status == SUCCEEDED else "failed"
    ago = f" {short(now - job.ended)} ago" if job.ended is not None else ""
    yield _full_stop(f"{job.title} {word}{ago}, after {short(job.duration(now))} of training{_why_ended(job)}")
    if job.status == FAILED:
        for one in [one for one in job.instances if one.exit_code][:_SHOWN]:
            yield f"{one.name} ended on {one.shown_node} with exit code {one.exit_code} ({one.detail})."


def _why_ended(job: JobSummary) -> str:
    """For whom a preempted one had to go, its story tells."""
    condition = true_condition(job.conditions, *_ENDS)
    if condition is not None and condition.reason == "Preempted":
        return ": it was preempted, and asks to fail rather than to queue"
    words = (condition.message or condition.reason) if condition else ""
    return f": {words}" if words else ""


def _waiting(job: JobSummary, events: Sequence[SeenEvent], now: float) -> list[str]:
    """The reason its pods carry, else the last one its events tell; what was refused after that is newer than both."""
    if job.status == RUNNING:
        return _not_mended(events, now)
    if job.status not in (PENDING, QUEUING):
        return []
    told = [event for event in events if event.reason in ("Waiting", "FailedScheduling", WRITE_REFUSED)]
    last = told[-1] if told and not _all_seated(job) else None
    if last is not None and last.reason == WRITE_REFUSED:
        return plainly(last.message)
    return plainly(next((one.waits for one in job.instances if one.waits), "") or (last.message if last else ""))


def _not_mended(events: Sequence[SeenEvent], now: float) -> list[str]:
    """A job that runs on what it has left: in a mass failure nothing is replaced."""
    told = [event for event in events if event.reason in ("Waiting", *BEGINNINGS)]
    last = told[-1].message if told else ""
    until = _UNTIL.search(last) if last.startswith("mass failure: ") else None
    if until is None or moment(until[1], "until") <= now:
        return []
    return [_full_stop(f"{short(now - told[-1].at)} ago it could not be made whole: {last}")]


def _foreseen(words: str, now: float) -> str:
    """A moment until which something holds, and how far away it is."""
    return _UNTIL.sub(lambda m: f"{m[0]} (in {short(moment(m[1], 'until') - now)})", words)


def _all_seated(job: JobSummary) -> bool:
    return bool(job.instances) and all(one.node for one in job.instances)


def plainly(reason: str) -> list[str]:
    """A reason of the scheduler, part by part. What another scheduler says is passed on as it is."""
    if not reason:
        return []
    if not reason.startswith("needs "):
        return [_full_stop(f"It waits: {reason}")]
    said, against = [], []
    for part in reason.split("; "):
        if part.startswith("needs "):
            said.append(_full_stop(f"It {part}"))
        elif part.startswith("room for "):
            said.append(_full_stop(f"There is {part}"))
        elif held := _HELD.fullmatch(part):
            said.append(_full_stop(f"{held[1]} holds {held[2]}: {held[3]}"))
        else:
            against.append(part)
    refused = [_full_stop(f"Why the rest does not do: {'; '.join(against)}")] if against else []
    return [*said[:2], *refused, *said[2:]]


def _notes(job: JobSummary) -> Iterator[str]:
    if job.status in (PENDING, QUEUING) and (holds := job.annotations.get(HOLDS)):
        seats = [f"{node} for {member}" for member, _, node in (seat.partition("=") for seat in holds.split(","))]
        yield _full_stop(f"Seats are held for it: {', '.join(seats)}")
    if job.status in (RUNNING, PENDING) and (times := job.annotations.get(PREEMPTED_FOR)):
        count = times.count(",") + 1
        yield f"Others made room for it {'once' if count == 1 else f'{count} times'} lately."


def _full_stop(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
