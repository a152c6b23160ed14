"""What is typed wrongly is named with what was probably meant; global flags may come before the verb, as in Arena."""

import pytest

from tests.cli.shell import Shell


@pytest.mark.parametrize(
    ("typed", "meant", "page"),
    [
        ("submitt", "submit", "understudy --help"),
        ("submit pytorh --name x true", "pytorch or pytorchjob", "understudy submit --help"),
        ("submit pytorch --name x --gpu=1 true", "--gpus", "understudy submit pytorch --help"),
        ("submit pytorch --name x --worker=1 true", "--workers", "understudy submit pytorch --help"),
        ("get x --tpye mpi", "--type", "understudy get --help"),
        ("node drian n", "drain", "understudy node --help"),
        ("list --allnamespace", "--allNamespaces", "understudy list --help"),
    ],
)
def test_did_you_mean(shell: Shell, typed: str, meant: str, page: str) -> None:
    assert shell.refuses(*typed.split()).endswith(f"; did you mean {meant}? See `{page}`")


def test_an_unknown_word_that_is_near_nothing(shell: Shell) -> None:
    said = shell.refuses("list", "--frobnicate")
    assert said == "understudy list: unrecognized arguments: --frobnicate; see `understudy list --help`"


def test_the_namespace_may_come_before_the_verb(shell: Shell) -> None:
    code, out, _ = shell.run("-n", "team", "submit", "job", "--name=x", "--dry-run", "true")
    assert (code, "namespace: team" in out) == (0, True)


def test_a_flag_behind_the_verb_overrides_the_one_before_it(shell: Shell) -> None:
    code, out, _ = shell.run("-n", "team", "submit", "job", "-n", "other", "--name=x", "--dry-run", "true")
    assert (code, "namespace: other" in out) == (0, True)


def test_global_flags_reach_verbs_with_parts(shell: Shell) -> None:
    assert "--cluster nowhere: no such cluster" in shell.refuses("--cluster", "nowhere", "node", "list")


def test_a_verb_that_has_no_use_for_a_global_flag_refuses_it(shell: Shell) -> None:
    assert "--namespace: `understudy down` has no such flag" in shell.refuses("-n", "team", "down")


def test_lists_take_the_words_of_arena_for_all_namespaces(shell: Shell) -> None:
    assert "there is no cluster" in shell.refuses("list", "--allNamespaces")


def test_the_help_tells_of_the_global_flags(shell: Shell) -> None:
    code, out, _ = shell.run("--help")
    assert (code, "--loglevel" in out, "--namespace" in out) == (0, True, True)
