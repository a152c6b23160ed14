"""Explains the state of a job in sentences: from its status, its pods, its events, and its last disruption."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from understudy.cli.errors import short_list
from understudy.cli.input.times import parse_time, short_duration
from understudy.cli.queries.events import PROVISIONING_FAILED, WRITE_REFUSED
from understudy.cli.queries.job_status import FAILED, PENDING, QUEUING, RUNNING, SUCCEEDED
from understudy.cli.queries.jobs import JobSummary
from understudy.cli.queries.objects import EventInfo
from understudy.cli.views.evictions import eviction_sentences
from understudy.cli.views.findings import Finding
from understudy.kinds.annotations import HOLDS, PREEMPTED_FOR
from understudy.kinds.registry import KINDS

_SHOWN_INSTANCES = 3
_UNTIL = re.compile(r"until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
_HELD = re.compile(r"held by (\S+), (\d+ seats?): (.*)")


def reason_sentences(
    job: JobSummary, events: Sequence[EventInfo], now: float, causes: Sequence[Finding] = ()
) -> list[str]:
    """`causes` have sentences of their own: what they explain is not said here."""
    explained = {cause.pod for cause in causes}
    said = [
        *_state(job, now, explained),
        *(_with_time_left(words, now) for words in _waiting(job, events, now, explained)),
    ]
    said += [*_machines(job, events, now), *_notes(job)]
    return [*said, *eviction_sentences(job, events, now), *last_disruption(job, events, now)]


def _state(job: JobSummary, now: float, explained: Collection[str]) -> Iterator[str]:
    running = [one for one in job.instances if one.status == "RUNNING" and not one.leaving]
    count = f"{len(running)} of {len(job.instances)} instances"
    match job.status:
        case "RUNNING":
            nodes = short_list(list(dict.fromkeys(one.shown_node for one in running)))
            yield f"{job.title} runs: {count}{' on ' * bool(nodes)}{nodes}, for {short_duration(job.duration(now))}."
        case "PENDING":
            yield f"{job.title} is pending, {short_duration(job.age(now))} after it was made: {count} run."
            yield from _starting(job, explained)
        case "QUEUING":
            yield f"{job.title} waits to go on: it gave up its seats, and is resumed by itself when it fits."
        case "SUSPENDED" if job.queue:
            yield f"{job.title} waits in Kueue's queue {job.queue}, which keeps it suspended until it is its turn."
        case "SUSPENDED":
            yield f"{job.title} is suspended by its owner; `understudy resume {job.name}` lets it go on."
        case _:
            yield from _end(job, now, explained)


def _starting(job: JobSummary, explained: Collection[str]) -> Iterator[str]:
    """The pods that have a node and do not run yet, with what their containers wait for."""
    starting = [one for one in job.instances if one.status == "PENDING" and one.node and one.name not in explained]
    for one in starting[:_SHOWN_INSTANCES]:
        yield f"{one.name} has its seat on {one.shown_node} and starts: {one.detail}."
    if not job.instances and not explained:
        yield "It has no pods yet."


def _end(job: JobSummary, now: float, explained: Collection[str]) -> Iterator[str]:
    word = "succeeded" if job.status == SUCCEEDED else "failed"
    ago = f" {short_duration(now - job.ended)} ago" if job.ended is not None else ""
    yield _full_stop(f"{job.title} {word}{ago}, after {short_duration(job.duration(now))} of training{_why_ended(job)}")
    if job.status == FAILED:
        for one in [one for one in job.instances if one.exit_code and not explained][:_SHOWN_INSTANCES]:
            yield f"{one.name} ended on {one.shown_node} with exit code {one.exit_code} ({one.detail})."


def _why_ended(job: JobSummary) -> str:
    """The story of a preempted job names the job that it made room for."""
    condition = KINDS[job.resource.kind].ends.condition(job.conditions)
    if condition is not None and condition.reason == "Preempted":
        return ": it was preempted, and asks to fail rather than to queue"
    words = (condition.message or condition.reason) if condition else ""
    return f": {words}" if words else ""


def _waiting(job: JobSummary, events: Sequence[EventInfo], now: float, explained: Collection[str]) -> list[str]:
    """The reason on its pods, else the last one in its events. A refusal after that is newer than both."""
    if job.status == RUNNING:
        return _not_replaced(events, now)
    if job.status not in (PENDING, QUEUING):
        return []
    reasons = [event for event in events if event.reason in ("Waiting", "FailedScheduling", WRITE_REFUSED)]
    last = reasons[-1] if reasons and not _all_seated(job) else None
    if last is not None and last.reason == WRITE_REFUSED:
        return plain_reason(last.message)
    waits = next((one.waits for one in job.instances if one.waits and one.name not in explained), "")
    return plain_reason(waits or (last.message if last and not explained else ""))


def _machines(job: JobSummary, events: Sequence[EventInfo], now: float) -> list[str]:
    """The last answer of an autoscaler that was asked for machines, as long as the job waits."""
    answers = [event for event in events if event.reason == PROVISIONING_FAILED]
    if not answers or job.status not in (PENDING, QUEUING) or _all_seated(job):
        return []
    return [_full_stop(f"{short_duration(now - answers[-1].at)} ago: {answers[-1].message}")]


def _not_replaced(events: Sequence[EventInfo], now: float) -> list[str]:
    """Why a running job that lost members is not made whole: in a mass failure nothing is replaced."""
    reasons = [event for event in events if event.reason in ("Waiting", *DISRUPTIONS)]
    last = reasons[-1].message if reasons else ""
    until = _UNTIL.search(last) if last.startswith("mass failure: ") else None
    if until is None or parse_time(until[1], "until") <= now:
        return []
    return [_full_stop(f"{short_duration(now - reasons[-1].at)} ago it could not be made whole: {last}")]


def _with_time_left(words: str, now: float) -> str:
    """A moment until which something holds, and how far away it is."""
    return _UNTIL.sub(lambda m: f"{m[0]} (in {short_duration(parse_time(m[1], 'until') - now)})", words)


def _all_seated(job: JobSummary) -> bool:
    return bool(job.instances) and all(one.node for one in job.instances)


def plain_reason(reason: str) -> list[str]:
    """A reason of our scheduler, part by part. The words of another scheduler are passed on unchanged."""
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
        elif part.startswith("cannot start "):
            said.append(_full_stop(f"It {part}"))
        elif held := _HELD.fullmatch(part):
            said.append(_full_stop(f"{held[1]} holds {held[2]}: {held[3]}"))
        else:
            against.append(part)
    refused = [_full_stop(f"Why it does not fit: {'; '.join(against)}")] if against else []
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


DISRUPTIONS = ("Preempted", "Requeued", "HotSwapped", "Shrunk")
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


def last_disruption(job: JobSummary, events: Sequence[EventInfo], now: float) -> list[str]:
    """The last preemption, swap or restart of the job; empty where none is known. A cluster forgets events after a
    while."""
    starts = [i for i, event in enumerate(events) if event.reason in DISRUPTIONS and _is_job(event, job)]
    if not starts:
        return _from_pods(events, now)
    beginning = events[starts[-1]]
    sentences = [_sentence(beginning, now)]
    seats = [event for event in events if event.reason == "Preempted" and event.involved_object.kind == "Pod"]
    recent = [event for event in seats if abs(event.at - beginning.at) <= 60]
    sentences += [_seat(event) for event in recent[:_SHOWN]]
    if len(recent) > _SHOWN:
        sentences.append(f"{len(recent) - _SHOWN} more of its pods left theirs.")
    # The event of a swap's end may come before that of its beginning: within a second the order of events is arbitrary.
    later = [event for event in events if event.reason in _ENDINGS and event.at >= beginning.at and _is_job(event, job)]
    # The job's own controller writes an event Resumed, too.
    ours = [event for event in later if _START.fullmatch(event.message) or _RECOVERY.fullmatch(event.message)]
    return sentences + [_sentence(event, now) for event in ours[-1:]]


def _is_job(event: EventInfo, job: JobSummary) -> bool:
    return event.involved_object.kind == job.kind and event.involved_object.name == job.name


def _from_pods(events: Sequence[EventInfo], now: float) -> list[str]:
    """Another scheduler writes its events on pods only."""
    seats = [event for event in events if event.reason == "Preempted" and event.involved_object.kind == "Pod"]
    return [f"{_ago(event, now)}: {_seat(event)}" for event in seats[-_SHOWN:]]


def _sentence(event: EventInfo, now: float) -> str:
    words = " ".join(event.message.split())
    for pattern, sentence in _SENTENCES:
        if match := pattern.fullmatch(words):
            return f"{_ago(event, now)} {sentence(match)}."
    return f"{_ago(event, now)}: {event.reason}: {words}."


def _seat(event: EventInfo) -> str:
    match = _SEAT.match(event.message)
    name = event.involved_object.name
    return f"{name} left {match[2]} to {match[1]}." if match else f"{name}: {event.message}."


def _ago(event: EventInfo, now: float) -> str:
    return f"{short_duration(now - event.at)} ago"


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
