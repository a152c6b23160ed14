"""The summary of the story: a line a chapter, the figures under their heads."""

from understudy.cli.story.chapters import Chapter, summary


def test_figures_stand_under_their_heads_and_what_did_not_happen_is_left_out() -> None:
    chapters = [
        Chapter(title="a job comes", running=0.204, started=12),
        Chapter(title="a node dies", noticed=3.5, running=4.0, started=2, stayed=10, preempted=4),
    ]
    assert list(summary(chapters)) == [
        "                noticed  all running  started  stayed  preempted",
        "1. a job comes                0.20 s       12",
        "2. a node dies   3.50 s       4.00 s        2      10          4",
    ]
