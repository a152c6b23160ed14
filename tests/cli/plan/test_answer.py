"""What-ifs and stories, from the files named to the text printed."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.shell import NODE, POD, Shell, joined

ROOT = Path(__file__).parents[3]
EXAMPLES, GUIDE = ROOT / "examples" / "plan", ROOT / "docs" / "guides" / "what-if.md"
WHAT_IF, SLICES = str(EXAMPLES / "what-if.yaml"), str(EXAMPLES / "exclusive-slices.yaml")


def kinds(plan: dict[str, list[dict[str, str]]]) -> list[tuple[str, str]]:
    return [(action["type"], action["gang"]) for action in plan["actions"]]


def test_a_failing_node_is_told_before_and_after(shell: Shell) -> None:
    text = shell.plan("-f", WHAT_IF, "--what-if", "fail-node=node-a")
    before, _, rest = text.partition("After fail-node=node-a\n")
    after, _, differs = rest.partition("What differs\n")
    assert before == "Before\nplan: Nothing to do.\n\n"
    assert after.startswith("plan: 1 swap, 1 preemption\n")
    assert [line.split(":")[0].strip() for line in differs.splitlines() if line.startswith("  after")] == ["after"] * 2
    assert "preempt Job/default/low" in differs
    assert "swap Job/default/high" in differs


def test_the_guide_shows_what_is_printed(shell: Shell) -> None:
    text = shell.plan("-f", WHAT_IF, "--what-if", "fail-node=node-a")
    assert f"\n{text}```\n" in GUIDE.read_text()


def test_a_what_if_in_json_and_yaml_has_both_plans(shell: Shell) -> None:
    found = shell.figures("-f", WHAT_IF, "--what-if", "fail-node=node-a")
    assert list(found) == ["before", "after"]
    assert kinds(found["before"]) == []
    assert kinds(found["after"]) == [("Preempt", "Job/default/low"), ("Swap", "Job/default/high")]
    assert yaml.safe_load(shell.plan("-f", WHAT_IF, "--what-if", "fail-node=node-a", "-o", "yaml")) == found


def test_a_drain_moves_ahead_of_its_deadline(shell: Shell) -> None:
    shell.write(spare=NODE % "node-z")
    changes = ("--what-if", "drain=node-a@+10m", "--what-if", "add=spare.yaml")
    found = shell.figures("-f", WHAT_IF, *changes)
    assert kinds(found["after"]) == [("Swap", "Job/default/high")]
    assert found["after"]["actions"][0]["moves"][0]["to_node"] == "node-z"


def test_added_objects_join_or_replace(shell: Shell) -> None:
    shell.write(c=joined(NODE % "a", POD % ("x", 16)), smaller=POD % ("x", 8), more=POD % ("y", 4))
    found = shell.figures("-f", "c.yaml", "--what-if", "add=smaller.yaml")
    assert (kinds(found["before"]), kinds(found["after"])) == (
        [("Wait", "Pod/default/x")],
        [("Start", "Pod/default/x")],
    )
    found = shell.figures("-f", "c.yaml", "--what-if", "add=more.yaml")
    assert sorted(kinds(found["after"])) == [("Start", "Pod/default/y"), ("Wait", "Pod/default/x")]


def test_a_removed_gang_makes_room(shell: Shell) -> None:
    seated = (POD % ("old", 8)).replace("spec:", "spec:\n  nodeName: a")
    shell.write(c=joined(NODE % "a", seated, POD % ("new", 8)))
    found = shell.figures("-f", "c.yaml", "--what-if", "remove=old")
    assert kinds(found["before"]) == [("Wait", "Pod/default/new")]
    assert kinds(found["after"]) == [("Start", "Pod/default/new")]


def test_a_change_that_changes_nothing_says_so(shell: Shell) -> None:
    shell.write(c=joined(NODE % "a", NODE % "b"))
    assert shell.plan("-f", "c.yaml", "--what-if", "fail-node=b").endswith("What differs\n  nothing\n")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("fail-node=node-aa", "--what-if fail-node=node-aa: no node 'node-aa'; did you mean node-a"),
        ("remove=lo", "--what-if remove=lo: no gang 'lo'; did you mean low"),
        ("add=no.yaml", "no.yaml: no such file; check the path"),
    ],
)
def test_names_that_are_not_there_are_refused(shell: Shell, change: str, complaint: str) -> None:
    assert shell.refused("-f", WHAT_IF, "--what-if", change).startswith(f"understudy: {complaint}")


def test_a_story_names_every_domain_and_why_not(shell: Shell) -> None:
    text = shell.plan("-f", SLICES, "--explain", "high")
    assert text.startswith("JobSet default/high (priority 2000)\n  needs: 1 island alone in one cloud.google.com/")
    assert "turn: 1 of 1 that want something" in text
    assert "Looked at for high-slice-0: 2 domains of cloud.google.com/gke-nodepool" in text
    assert "slice-a, slice-b: JobSet/default/low sits there" in text
    assert "Preemptions\n  JobSet default/low (priority 1000) gives up all its seats" in text


def test_a_story_of_one_that_wants_nothing(shell: Shell) -> None:
    text = shell.plan("-f", WHAT_IF, "--explain", "default/low")
    assert "turn: none; it wants nothing" in text
    assert "node-c  low-0-m4n8q" in text
    assert text.endswith("Nothing happens to it in this plan.\n")


def test_a_story_in_json(shell: Shell) -> None:
    story = json.loads(shell.plan("-f", SLICES, "--explain", "high", "-o", "json"))
    assert (story["title"], story["turn"], story["turns"]) == ("JobSet default/high", 1, 1)
    assert [look["place"] for look in story["looks"]] == ["slice-a", "slice-b"]
    assert [action["type"] for action in story["actions"]] == ["Preempt", "Start"]


def test_a_story_before_and_after(shell: Shell) -> None:
    text = shell.plan("-f", WHAT_IF, "--explain", "low", "--what-if", "fail-node=node-a")
    before, _, after = text.partition("After fail-node=node-a\n")
    assert "Nothing happens to it in this plan." in before
    assert "gives up all its seats for Job default/high" in after
    assert "What differs" not in after


def test_settings_change_the_plan(shell: Shell) -> None:
    shell.write(c=joined(NODE % "a", POD % ("x", 8)), s="policy: {spares: [{count: 1}], lendSpares: false}\n")
    assert kinds(shell.figures("-f", "c.yaml")) == [("Start", "Pod/default/x")]
    assert kinds(shell.figures("-f", "c.yaml", "--settings", "s.yaml")) == [("Wait", "Pod/default/x")]
    complaint = "understudy: no.yaml: no such file; check the path"
    assert shell.refused("-f", "c.yaml", "--settings", "no.yaml") == complaint


def test_prices_are_shown_where_they_are_set(shell: Shell) -> None:
    shell.write(
        c=joined(NODE % "a", POD % ("x", 4), POD % ("y", 16)),
        s="policy: {prices: [{price: 8.5}]}\n",
        elsewhere="policy: {prices: [{labels: {pool: cloud}, price: 8.5}]}\n",
    )
    assert "    price: 4.25 an hour\n    a  x\n" in shell.plan("-f", "c.yaml", "--settings", "s.yaml")
    words = "    price: 0.00 an hour; 1 pod on nodes without a price\n"
    assert words in shell.plan("-f", "c.yaml", "--settings", "elsewhere.yaml")
    assert "price" not in shell.plan("-f", "c.yaml")
    start, wait = shell.figures("-f", "c.yaml", "--settings", "s.yaml")["actions"]
    assert (start["price_per_hour"], start["seats_without_price"]) == (4.25, 0)
    assert "price_per_hour" not in wait


def test_a_job_that_asks_for_on_demand_capacity_says_why_spot_nodes_do_not_do(shell: Shell) -> None:
    node = (NODE % "s").replace("name: s}", 'name: s, labels: {cloud.google.com/gke-spot: "true"}}')
    pod = (POD % ("x", 4)).replace("name: x}", "name: x, annotations: {understudy.dev/capacity: on-demand}}")
    shell.write(c=joined(node, pod))
    text = shell.plan("-f", "c.yaml")
    assert "needs: 1 pod with 4 nvidia.com/gpu on on-demand capacity\n" in text
    assert "why not: s is spot; it asks for on-demand capacity\n" in text


def test_the_default_of_a_priority_decides_where_a_job_says_nothing(shell: Shell) -> None:
    node = (NODE % "z").replace("name: z}", 'name: z, labels: {cloud.google.com/gke-spot: "true"}}')
    shell.write(
        c=joined(NODE % "a", node, POD % ("x", 4)),
        s="policy: {capacityByPriority: [{below: 100, capacity: prefer-spot}]}\n",
    )
    assert shell.figures("-f", "c.yaml")["actions"][0]["seats"] == [["x", "a"]]
    assert shell.figures("-f", "c.yaml", "--settings", "s.yaml")["actions"][0]["seats"] == [["x", "z"]]
