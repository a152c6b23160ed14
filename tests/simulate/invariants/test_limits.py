"""The stopwatch of a gang that waits counts each explanation by itself."""

from understudy.simulate.invariants.limits import Stopwatch


def test_a_stretch_counts_for_what_explained_it_and_not_for_what_explains_the_next_one() -> None:
    watch = Stopwatch(10.0, "its old pods leave")
    watch.lap(14.0, "")
    watch.lap(15.5, "")
    watch.lap(17.0, "its old pods leave")
    watch.lap(30.0, "")
    assert watch.unexplained() == 3.0
    assert watch.spent["its old pods leave"] == 17.0
