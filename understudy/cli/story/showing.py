"""Shows the hot-swap story: starts a cluster for it, has it played, sums it up, and puts everything away again."""

import asyncio
import shlex
import sys
import time
from collections.abc import Iterator

from understudy.cli.paint import Painter
from understudy.cli.reaching import say
from understudy.cli.story import script
from understudy.cli.story.chapters import Chapter, summary
from understudy.cli.story.performance import perform
from understudy.cli.story.stage import StoryBroke
from understudy.cli.throwaway import Throwaway, ended_like_ctrl_c
from understudy.embedded.clusters.readiness import NotReady
from understudy.embedded.doorway import DoorClosed
from understudy.ports import Refused, Unreachable

NAME = "demo"
FAILED = 1
REMARK = """\
Times count from the cause to the moment the API showed it; started, stayed and preempted are processes. That a
node died is noticed by the loss of the connection to it; one that hangs, by its lease, in 2.5 seconds."""
MADE_UP = "Its pods are real processes of this machine; its accelerators are made up."
_TROUBLES = (StoryBroke, NotReady, DoorClosed, Refused, Unreachable)


def show(*, keep: bool) -> int:
    with ended_like_ctrl_c():
        cluster = Throwaway(NAME, script.nodes())
        try:
            chapters = _played(cluster)
        except _TROUBLES as error:
            return _complain(cluster, error, keep=keep)
        except BaseException:
            cluster.discard()
            raise
        _sum_up(chapters)
        if keep:
            say("", *_how_to_reach(cluster))
        else:
            cluster.discard()
            print("\nThe cluster is stopped, and its folder removed.")
        return 0


def _played(cluster: Throwaway) -> list[Chapter]:
    began = time.monotonic()
    nodes = cluster.start()
    seconds = time.monotonic() - began
    print(f"A cluster of {nodes} nodes in slices of two is up after {seconds:.1f} s.", MADE_UP, sep="\n", flush=True)
    return asyncio.run(perform(cluster.folder, sys.stdout))


def _sum_up(chapters: list[Chapter]) -> None:
    paint = Painter.on(sys.stdout)
    head, *rows = summary(chapters)
    print(f"\n{paint(head, 'bold')}", *rows, f"\n{REMARK}", sep="\n")


def _how_to_reach(cluster: Throwaway) -> Iterator[str]:
    yield "The cluster goes on, with both jobs on it:"
    yield ""
    for command, meaning in (
        (f"export UNDERSTUDY_HOME={shlex.quote(str(cluster.home))}", ""),
        (f"export KUBECONFIG={shlex.quote(str(cluster.folder.kubeconfig))}", ""),
        ("kubectl get jobsets,pods -o wide", ""),
        ("understudy status", "how it is doing"),
        ("understudy reset --yes", "stops it, and removes everything it has"),
    ):
        yield f"  {command:<34} {meaning}".rstrip()


def _complain(cluster: Throwaway, error: Exception, *, keep: bool) -> int:
    sys.stdout.flush()
    print(f"understudy: the story did not come about: {error}", file=sys.stderr)
    if keep:
        print("\n".join(_how_to_reach(cluster)), file=sys.stderr)
    else:
        cluster.discard(but_logs=True)
    print(f"The logs of the cluster's parts are in {cluster.folder.logs}", file=sys.stderr)
    return FAILED
