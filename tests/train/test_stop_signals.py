"""A process that is stopped knows it, and by when; signal handlers from before are still called."""

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy import train
from understudy.train import job_environment, stop_signals

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Signals are as before when the test is over."""
    for name in (job_environment.GRACE, job_environment.SIGNAL):
        monkeypatch.delenv(name, raising=False)
    yield
    stop_signals._listener.forget()
    stop_signals._listener.grace = None


def python(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=90, check=False
    )


def test_no_stop_is_reported_before_a_signal() -> None:
    assert train.stopping() is None
    before = time.time()
    os.kill(os.getpid(), signal.SIGTERM)
    stop = train.stopping()
    assert stop is not None
    assert stop.reason == "SIGTERM"
    assert before <= stop.at <= time.time()
    assert stop.deadline == stop.at + 30.0
    assert 0.0 < stop.seconds_left <= 30.0


def test_the_first_signal_counts() -> None:
    train.watch()
    os.kill(os.getpid(), signal.SIGTERM)
    first = train.stopping()
    os.kill(os.getpid(), signal.SIGTERM)
    assert train.stopping() == first


@pytest.mark.parametrize(("grace", "seconds"), [(None, 7.5), (3.0, 3.0)], ids=["told", "given"])
def test_the_deadline_is_that_of_the_pod(monkeypatch: pytest.MonkeyPatch, grace: float | None, seconds: float) -> None:
    monkeypatch.setenv(job_environment.GRACE, "7.5")
    train.watch(grace)
    os.kill(os.getpid(), signal.SIGTERM)
    stop = train.stopping()
    assert stop is not None
    assert stop.deadline - stop.at == pytest.approx(seconds)


def test_the_signal_that_the_job_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(job_environment.SIGNAL, "usr1")
    train.watch()
    os.kill(os.getpid(), signal.SIGUSR1)
    stop = train.stopping()
    assert stop is not None
    assert stop.reason == "SIGUSR1"


@pytest.mark.parametrize(
    ("name", "value"),
    [(job_environment.GRACE, "soon"), (job_environment.SIGNAL, "SIGKILL"), (job_environment.SIGNAL, "NOISE")],
)
def test_what_makes_no_sense_is_said_at_once(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name}='{value}'"):
        train.watch()


def test_who_listened_before_still_hears() -> None:
    heard: list[int] = []
    found = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        train.watch()
        train.watch()  # again, as after a library that took signals over
        os.kill(os.getpid(), signal.SIGTERM)
        assert train.stopping() is not None
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, found)


def test_other_threads_may_ask_and_are_told_who_has_to_listen() -> None:
    said: list[object] = []

    def elsewhere() -> None:
        said.append(train.stopping())
        try:
            train.watch()
        except RuntimeError as problem:
            said.append(str(problem))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert said == [None, "signals reach only the main thread: call understudy.train.watch() there first"]
    train.watch()
    thread = threading.Thread(target=train.watch)  # nothing left to do
    thread.start()
    thread.join()


def test_the_moment_is_when_the_signal_came_and_not_when_the_main_thread_had_time() -> None:
    """It sleeps within C code, where no handler of Python runs."""
    script = """
import ctypes, os, signal, threading, time
from understudy import train
train.watch(grace=1000.0)
sent = []

def tell():
    sent.append(time.time())
    os.kill(os.getpid(), signal.SIGTERM)

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # the other thread gets it, and this one sleeps on
class Span(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("rest", ctypes.c_long)]
def open_ears():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    tell()
threading.Thread(target=open_ears).start()
ctypes.CDLL(None).nanosleep(ctypes.byref(Span(2, 0)), None)
stop = train.stopping()
print(stop.reason, stop.at - sent[0] < 1.5)
"""
    done = python(script)
    assert done.stdout == "SIGTERM True\n", done.stderr


def test_children_die_of_it_as_ever() -> None:
    """Workers of a data loader are forked, and ended by SIGTERM."""
    script = """
import multiprocessing, time
from understudy import train
train.watch()
worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,))
worker.start()
worker.terminate()
worker.join(60)
print(worker.exitcode, train.stopping())
"""
    done = python(script)
    assert done.stdout == "-15 None\n", done.stderr


def test_leaving_tells_that_the_work_is_not_done() -> None:
    assert python("from understudy import train; train.leave()").returncode == train.STOPPED == 143


@pytest.mark.parametrize("path", sorted((ROOT / "understudy" / "train").glob("*.py")), ids=lambda path: path.name)
def test_images_with_an_older_python_can_have_it(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 9))


def test_it_is_light() -> None:
    """Neither what Understudy itself is built on, nor what the network takes."""
    script = (
        "import sys, understudy.train; print([m for m in ('msgspec', 'yaml', 'asyncio', 'ssl') if m in sys.modules])"
    )
    assert python(script).stdout == "[]\n"
