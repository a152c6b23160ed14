"""Waiting in tests: `eventually(look)` asks again until the answer is true, and fails with the last answer it got.

The limit is generous because it decides only how long a failure takes.
A test that passes stops at the first true answer.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar, overload

Found = TypeVar("Found")
Errors = tuple[type[Exception], ...]

LIMIT = 120.0  # seconds
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1


def eventually(
    look: Callable[[], Found | None],
    what: str | Callable[[], str] = "",
    *,
    until: Callable[[Found], object] = bool,
    seconds: float = LIMIT,
    ignoring: Errors = (),
    unless: Callable[[], object] = bool,
) -> Found:
    """Returns the first answer that is true, or for which `until` is true. A failed `assert` in `look` means "not yet".

    `ignoring` names further exceptions that mean "not yet". When `unless` returns a reason, for example that a process
    has ended, waiting ends at once.
    """
    deadline = time.monotonic() + seconds
    not_yet: Errors = (AssertionError, *ignoring)
    for pause in _pauses():
        seen: Any
        try:
            if (seen := look()) is not None and until(seen):
                return seen
        except not_yet as error:
            seen = error
        _give_up(unless(), deadline, seconds, what or _source(look), seen)
        time.sleep(pause)
    raise AssertionError("unreachable")


@overload
async def eventually_async(
    look: Callable[[], Awaitable[Found | None]],
    what: str | Callable[[], str] = "",
    *,
    until: Callable[[Found], object] = bool,
    seconds: float = LIMIT,
    ignoring: Errors = (),
    unless: Callable[[], object] = bool,
) -> Found: ...


@overload
async def eventually_async(
    look: Callable[[], Found | None],
    what: str | Callable[[], str] = "",
    *,
    until: Callable[[Found], object] = bool,
    seconds: float = LIMIT,
    ignoring: Errors = (),
    unless: Callable[[], object] = bool,
) -> Found: ...


async def eventually_async(
    look: Callable[[], Any],
    what: str | Callable[[], str] = "",
    *,
    until: Callable[[Any], object] = bool,
    seconds: float = LIMIT,
    ignoring: Errors = (),
    unless: Callable[[], object] = bool,
) -> Any:
    """As `eventually`, without blocking the event loop. `look` may be a coroutine function, cut off at the limit."""
    deadline = time.monotonic() + seconds
    not_yet: Errors = (AssertionError, *ignoring)
    for pause in _pauses():
        seen: Any
        try:
            seen = look()
            if inspect.isawaitable(seen):
                seen = await _within(seen, deadline)
            if seen is not None and until(seen):
                return seen
        except not_yet as error:
            seen = error
        _give_up(unless(), deadline, seconds, what or _source(look), seen)
        await asyncio.sleep(pause)
    raise AssertionError("unreachable")


async def _within(answer: Awaitable[Any], deadline: float) -> Any:
    try:
        async with asyncio.timeout(deadline - time.monotonic()) as limit:
            return await answer
    except TimeoutError:
        if not limit.expired():
            raise
        raise AssertionError("no answer") from None


def _pauses() -> Iterator[float]:
    """Short ones first, since most conditions hold almost at once; then longer ones, so that waiting costs no CPU."""
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _give_up(reason: object, deadline: float, seconds: float, what: str | Callable[[], str], seen: object) -> None:
    if not reason and time.monotonic() < deadline:
        return
    what = what if isinstance(what, str) else what()
    raise AssertionError(f"{reason or f'not within {seconds:g} s'}: {what}\nlast seen: {seen!r}")


def _source(look: Callable[[], object]) -> str:
    name = str(getattr(look, "__qualname__", repr(look)))
    try:
        return inspect.getsource(look).strip() if name.endswith("<lambda>") else name
    except OSError:
        return name
