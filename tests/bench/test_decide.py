"""The benchmark itself: every scenario runs small, answers right, and a wrong answer is noticed."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.decide import __main__ as bench
from bench.decide import plan_checks, table
from bench.decide.__main__ import main
from bench.decide.measure import Result, afresh, decoded, filled, measure
from bench.decide.scenarios import SCENARIOS, WANTED
from understudy.model.plans import Plan, Preempt, Start

KEYS = {"scenario", "nodes", "total_seconds", "plan_seconds", "victims"}


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("scenario", "nodes", "victims"),
    [
        ("kai-reclaim", 100, 80),
        ("kai-reclaim-half", 64, 256),
        ("slices", 176, 4),
        ("burst", 96, 1),
        ("cold-start", 96, 0),
        ("queue", 96, 0),
        ("mass-suspect", 640, 0),
        ("events", 64, 0),
    ],
)
def test_each_scenario_is_one_json_line(
    scenario: str, nodes: int, victims: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--scenario", scenario, "--nodes", str(nodes), "--repeats", "1", "--json"])
    (result,) = lines(capsys)
    assert result.keys() >= KEYS
    assert (result["scenario"], result["nodes"]) == (scenario, nodes)
    assert result["victims"] <= victims if scenario == "slices" else result["victims"] == victims
    assert 0 < result["plan_seconds"] <= result["total_seconds"]


@pytest.mark.thorough
def test_growth_doubles_up_to_the_size_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--scenario", "growth", "--nodes", "128", "--repeats", "1", "--json"])
    sizes = [(result["scenario"], result["nodes"]) for result in lines(capsys)]
    assert sizes[:2] == [("kai-reclaim", n) for n in (64, 128)]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_doing_nothing_is_a_wrong_answer(scenario: str) -> None:
    case = SCENARIOS[scenario](96)
    objects, _ = decoded([*case.documents, *case.failures])
    _, snapshot = filled(objects)
    with pytest.raises(plan_checks.WrongAnswer):
        case.check(snapshot, Plan())


def test_a_seat_that_is_not_given_up_is_a_wrong_answer() -> None:
    objects, _ = decoded(SCENARIOS["kai-reclaim"](64).documents)
    _, snapshot = filled(objects)
    start = Start(WANTED, (("a", "node-00000"),), waits_for=("Pod/default/job-0-0",))
    preempt = Preempt("Pod/default/job-0-0", WANTED, ("p",), ("node-00000",), True, "")
    with pytest.raises(plan_checks.WrongAnswer, match=r"job-0-1.*stays"):
        plan_checks.starts_after_preempting(snapshot, Plan((preempt, start)), WANTED, 1)


def test_needless_loss_of_work_is_a_wrong_answer() -> None:
    preempt = Preempt("Job/default/a", WANTED, ("p",), ("n",), True, "", work_lost=200.0)
    plan_checks.victims_are(Plan((preempt,)), 1, 200.0)
    with pytest.raises(plan_checks.WrongAnswer, match="100 would do"):
        plan_checks.victims_are(Plan((preempt,)), 1, 100.0)


def reclaim(nodes: int, seconds: float, scenario: str = "kai-reclaim") -> Result:
    figures = {"total_seconds": seconds, "best_total_seconds": seconds, "plan_seconds": 0.01}
    return {"scenario": scenario, "nodes": nodes, **figures}


def test_the_table_puts_ours_beside_the_published_figures_of_kai(tmp_path: Path) -> None:
    kai = table.kai_figures(tmp_path)
    rows = list(table.rows([reclaim(500, 0.05), reclaim(1000, 0.2), reclaim(5000, 0.4)], kai, pace=0.1))
    assert "9.17 s" in rows[1]
    assert "183.4" in rows[1]
    assert "MISSED" in rows[2]
    assert "76.30 s" in rows[2]
    assert rows[3].split()[-2:] == ["met", "4.0"], "KAI published no figure for 5,000 nodes"


def test_half_of_the_nodes_is_compared_with_the_mean_of_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / table.KAI_FILE).write_text("benchmark,nodes,seconds,source\nLarge,500,6.0,a\nLarge,500,7.0,b\n")
    kai = table.kai_figures(tmp_path)
    half, tenth = reclaim(500, 0.05, "kai-reclaim-half"), reclaim(500, 0.05)
    rows = list(table.rows([half, tenth], kai, pace=0.1))
    assert "6.50 s" in rows[1]
    assert "130.0" in rows[1]
    assert "9.17 s" in rows[2], "the published figure is of a tenth of the nodes"


def test_a_shape_without_figures_of_kai_has_none_beside_it(tmp_path: Path) -> None:
    rows = list(table.rows([reclaim(500, 0.05, "kai-reclaim-jobs")], table.kai_figures(tmp_path), pace=0.1))
    assert "9.17" not in rows[1]


def test_without_the_measured_figures_the_table_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "QUICK", {**dict.fromkeys(bench.QUICK, ()), "cold-start": (64,)})
    main(["--quick", "--repeats", "1", "--anchors", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "the measured figures are not shown" in printed
    assert printed.count("cold-start") == 1


def test_a_result_counts_what_was_planned() -> None:
    result = measure("cold-start", 64, SCENARIOS["cold-start"](64))
    assert (result["starts"], result["victims"]) == (4, 0)


def test_several_rounds_have_a_process_each_and_give_their_median() -> None:
    result = afresh("cold-start", 64, repeats=2)
    assert (result["starts"], result["repeats"]) == (4, 2)
    assert 0 < result["best_total_seconds"] <= result["total_seconds"]  # type: ignore[operator]
