"""The events of a job into the story of its last preemption or swap: what was taken, for whom, and how it went on."""

import re
from collections.abc import Callable, Sequence

from understudy.cli.durations import short
from understudy.cli.jobs.seen import SeenEvent
from understudy.cli.jobs.summaries import JobSummary

BEGINNINGS = ("Preempted", "Requeued", "HotSwapped", "Shrunk")
_ENDINGS = ("Resumed", "Recovered")
_SHOWN = 4
_TAKEN = re.compile(r"preempt \S+ \((\d+) pods?\) for (\S+): (.*)")
_IN_PART = re.compile(r"take (.+) from \S+ for (\S+): (.*)")
_SEAT = re.compile(r"Preempted by (\S+) on node (\S+)( \(.*\))?")
_SWAP = re.compile(r"swap \S+: (.*?)(?:, once (.+?) left)?; (.*)")
_BACK = re.compile(r"requeue \S+: (.*)")
_SHRINK = re.compile(r"shrink \S+ by (.*?): (.*)")
_START = re.compile(r"start \S+ on (.*)")
_RECOVERY = re.compile(r"((?:all \d+|it goes on with) .* s) after (the failure|it was detected) \(.*\)")


def last_story(job: JobSummary, events: Sequence[SeenEvent], now: float) -> list[str]:
    """Nothing where nothing of the kind is known. Events are forgotten after a while."""
    starts = [i for i, event in enumerate(events) if event.reason in BEGINNINGS and _is_job(event, job)]
    if not starts:
        return _from_pods(events, now)
    beginning = events[starts[-1]]
    told = [_sentence(beginning, now)]
    seats = [event for event in events if event.reason == "Preempted" and event.involved_object.kind == "Pod"]
    recent = [event for event in seats if abs(event.at - beginning.at) <= 60]
    told += [_seat(event) for event in recent[:_SHOWN]]
    if len(recent) > _SHOWN:
        told.append(f"{len(recent) - _SHOWN} more of its pods left theirs.")
    # A swap may be over before anybody came to tell that it began: within a second the order of events says nothing.
    later = [event for event in events if event.reason in _ENDINGS and event.at >= beginning.at and _is_job(event, job)]
    # Its controller says that it resumed, too.
    ours = [event for event in later if _START.fullmatch(event.message) or _RECOVERY.fullmatch(event.message)]
    return told + [_sentence(event, now) for event in ours[-1:]]


def _is_job(event: SeenEvent, job: JobSummary) -> bool:
    return event.involved_object.kind == job.kind and event.involved_object.name == job.name


def _from_pods(events: Sequence[SeenEvent], now: float) -> list[str]:
    """Another scheduler tells the pods only."""
    seats = [event for event in events if event.reason == "Preempted" and event.involved_object.kind == "Pod"]
    return [f"{_ago(event, now)}: {_seat(event)}" for event in seats[-_SHOWN:]]


def _sentence(event: SeenEvent, now: float) -> str:
    words = " ".join(event.message.split())
    for pattern, sentence in _SENTENCES:
        if match := pattern.fullmatch(words):
            return f"{_ago(event, now)} {sentence(match)}."
    return f"{_ago(event, now)}: {event.reason}: {words}."


def _seat(event: SeenEvent) -> str:
    match = _SEAT.match(event.message)
    name = event.involved_object.name
    return f"{name} left {match[2]} to {match[1]}." if match else f"{name}: {event.message}."


def _ago(event: SeenEvent, now: float) -> str:
    return f"{short(now - event.at)} ago"


def _swapped(match: re.Match[str]) -> str:
    once = f", once {match[2]} had left" if match[2] else ""
    return f"seats were swapped: {match[1]}{once}; {match[3]}"


_SENTENCES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_TAKEN, lambda m: f"it gave up all its seats ({m[1]}) for {m[2]}: {m[3]}"),
    (_IN_PART, lambda m: f"{m[1]} had to go for {m[2]}: {m[3]}"),
    (_SWAP, _swapped),
    (_BACK, lambda m: f"it went back to the queue: {m[1]}"),
    (_SHRINK, lambda m: f"it went on without {m[1]}: {m[2]}"),
    (_START, lambda m: f"it went on, on {m[1]}"),
    (_RECOVERY, lambda m: f"it had recovered: {m[1]} after {m[2]}"),
)
