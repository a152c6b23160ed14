"""A guide that shows what does not come about is found out."""

import pytest

from tests.guides.transcripts import Step, commands, excerpts, steps

GUIDE = """\
Words.

<!-- varies: slice-e -->
<!-- refused -->
```console
$ one \\
  --more
out
$ two
on slice-e
```

```yaml
# examples/some.yaml
kind: Job
```
"""


def test_commands_come_in_order_with_what_they_print() -> None:
    assert steps(GUIDE) == [
        Step("one \\\n  --more", "out", 6, ("slice-e",), False),
        Step("two", "on slice-e", 9, ("slice-e",), True),
    ]


def test_files_are_named_where_they_are_shown() -> None:
    assert list(excerpts(GUIDE)) == [("examples/some.yaml", "kind: Job\n")]


def test_a_block_that_is_no_console_or_has_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match="not called console"):
        steps("```\n$ one\n```\n")
    with pytest.raises(ValueError, match="no command before"):
        commands("out", "$ ")


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("", ""),
        ("NAME  AGE\na     58s", "NAME  AGE\na     2m32s\n"),
        ("medium-launcher-sz5xj  RUNNING", "medium-launcher-b7wkq    RUNNING\n"),
        ("on slice-e-0", "on slice-a-1\n"),
        ("first\n...\nlast", "first\nsecond\nthird\nlast\n"),
        ("first\n...", "first\n"),
        ("(pod uid ...)", "(pod uid 1-2 3)"),
    ],
)
def test_what_cannot_be_the_same_twice_may_differ(shown: str, printed: str) -> None:
    assert Step("c", shown, 1, ("slice-e-0",)).is_what_was_shown(printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("", "anything"),
        ("out", ""),
        ("STATUS: RUNNING", "STATUS: PENDING"),
        ("a  58s", "a  soon"),
        ("medium-launcher-sz5xj", "medium-launcher-0"),
        ("medium-worker-0", "medium-worker-1"),
        ("on slice-e-0", "on slice-a-0 now"),
        ("first", "first\nsecond"),
        ("first\n...\nlast", "first\nsecond"),
        ("1/1 (100%)", "0/1 (0%)"),
    ],
)
def test_all_else_may_not(shown: str, printed: str) -> None:
    assert not Step("c", shown, 1, ("slice-e-0",)).is_what_was_shown(printed)
