"""`understudy plan` as a user meets it: what it prints, what it refuses and how."""

import json
import subprocess
import sys

import pytest
import yaml

from tests.cli.shell import NODE, NOW, POD, Shell, joined
from understudy import __version__


def test_a_start_shows_every_seat(shell: Shell) -> None:
    shell.write(c=joined(NODE % "a", POD % ("x", 4)))
    text = shell.plan("-f", "c.yaml")
    assert text.splitlines()[0] == "plan: 1 start"
    assert "Starts" in text
    assert any(line.split() == ["a", "x"] for line in text.splitlines())


def test_nothing_to_do(shell: Shell) -> None:
    shell.write(c=NODE % "a")
    assert shell.plan("-f", "c.yaml") == "plan: Nothing to do.\n"


def test_a_waiting_gang_says_what_it_needs(shell: Shell) -> None:
    shell.write(c=joined(NODE % "a", POD % ("x", 16)))
    text = shell.plan("-f", "c.yaml")
    assert text.splitlines()[0] == "plan: 1 waits"
    assert "Pod default/x" in text
    assert "needs: " in text
    assert "16" in text


def test_json_and_yaml_carry_the_same(shell: Shell) -> None:
    shell.write(c=joined(NODE % "a", POD % ("x", 4)))
    figures = shell.figures("-f", "c.yaml")
    assert figures["now"] == "2026-01-01T12:00:00Z"
    [action] = figures["actions"]
    assert (action["type"], action["gang"], action["seats"]) == ("Start", "Pod/default/x", [["x", "a"]])
    assert figures["gangs"]["Pod/default/x"]["title"] == "Pod default/x"
    assert yaml.safe_load(shell.plan("-f", "c.yaml", "-o", "yaml")) == figures


def test_files_directories_and_lists_add_up(shell: Shell) -> None:
    (shell.folder / "jobs").mkdir()
    (shell.folder / "jobs" / "one.yaml").write_text(POD % ("one", 1))
    (shell.folder / "jobs" / "two.json").write_text(json.dumps(yaml.safe_load(POD % ("two", 1))))
    items = [yaml.safe_load(NODE % "a"), yaml.safe_load(POD % ("three", 1))]
    shell.write(c=yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    gangs = {a["gang"] for a in shell.figures("-f", "c.yaml", "-f", "jobs")["actions"]}
    assert gangs == {"Pod/default/one", "Pod/default/two", "Pod/default/three"}


def test_what_has_no_say_is_skipped_with_a_note(shell: Shell) -> None:
    service = "\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\n"
    shell.write(c=joined(NODE % "a", service % "s", service % "t"))
    code, out, err = shell.run("plan", *NOW, "-f", "c.yaml")
    assert (code, out) == (0, "plan: Nothing to do.\n")
    assert err == "note: 2 Services have no say in scheduling; skipped\n"


def test_only_pods_of_the_named_scheduler_are_ours(shell: Shell) -> None:
    ours = (POD % ("ours", 1)).replace("spec:", "spec:\n  schedulerName: understudy")
    shell.write(c=joined(NODE % "a", ours, POD % ("theirs", 1)))
    named = [a["gang"] for a in shell.figures("-f", "c.yaml", "--scheduler", "understudy")["actions"]]
    assert named == ["Pod/default/ours"]


BAD_POD = POD % ("x", 1)
BAD = {
    "not YAML": (
        "kind: Pod\nmetadata: [a\n",
        "understudy: c.yaml: line 3, column 1: not YAML: ",
    ),
    "empty": ("", "understudy: c.yaml: there is no object in it; expected Kubernetes objects as YAML or JSON"),
    "no object": ("- 1\n", "understudy: c.yaml: line 1: '[1]' is no object; expected apiVersion, kind and metadata"),
    "no kind": ("metadata: {name: x}\n", "understudy: c.yaml: document 1 (line 1): kind: missing; "),
    "no name": (
        "apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: c}]}\n",
        "understudy: c.yaml: document 1 (line 1): Pod without a name: metadata.name: is missing; ",
    ),
    "an unknown kind": (
        "apiVersion: x/v1\nkind: PyTorchJobb\nmetadata: {name: x}\n",
        "understudy: c.yaml: PyTorchJobb default/x: kind: 'PyTorchJobb' is not understood; did you mean PyTorchJob? ",
    ),
    "an impossible quantity": (
        BAD_POD.replace("limits: {nvidia.com/gpu", "requests: {cpu: 4 cores, nvidia.com/gpu"),
        "understudy: c.yaml: Pod default/x: spec.containers[0].resources.requests.cpu: ",
    ),
    "a bad operator": (
        BAD_POD.replace(
            "spec:",
            "spec:\n  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: zone, operator: Inn, values: [a]}]}]}}}",
        ),
        (
            "understudy: c.yaml: Pod default/x: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnored"
            "DuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: 'Inn' is none of In, NotIn, Exists, "
        ),
    ),
    "two nodes of one name": (
        joined(NODE % "a", NODE % "b", NODE % "a"),
        "understudy: c.yaml: Node a: metadata.name: taken already by line 2; rename or remove the one on line 16",
    ),
    "a PriorityClass that does not exist": (
        joined(
            "\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: low}\nvalue: 1\n",
            BAD_POD.replace("spec:", "spec:\n  priorityClassName: urgent"),
        ),
        (
            "understudy: c.yaml: Pod default/x: spec.priorityClassName: there is no PriorityClass 'urgent'; "
            "there are: low"
        ),
    ),
    "nesting without end": (
        "apiVersion: v1\nkind: Node\nmetadata: &loop {name: x, labels: *loop}\n",
        "understudy: c.yaml: line 3: nested without end: an anchor refers to itself",
    ),
    "a key twice": (
        "kind: Pod\nkind: Node\n",
        "understudy: c.yaml: line 2: kind: the key stands twice in one mapping; remove one of them",
    ),
}


@pytest.mark.parametrize(("text", "complaint"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_that_names_file_object_and_field(shell: Shell, text: str, complaint: str) -> None:
    shell.write(c=text)
    assert shell.refused("-f", "c.yaml").startswith(complaint)


def test_two_objects_of_one_name_name_both_files(shell: Shell) -> None:
    shell.write(c=NODE % "a", d=NODE % "a")
    complaint = "understudy: d.yaml: Node a: metadata.name: taken already by c.yaml, line 2; "
    complaint += "rename or remove the one on line 2"
    assert shell.refused("-f", "c.yaml", "-f", "d.yaml") == complaint


def test_a_missing_file_and_an_empty_directory_are_named(shell: Shell) -> None:
    (shell.folder / "empty").mkdir()
    assert shell.refused("-f", "no.yaml") == "understudy: no.yaml: no such file; check the path"
    assert shell.refused("-f", "empty") == "understudy: empty: the directory has no .yaml, .yml or .json file in it"


def test_bad_options_are_one_line_too(shell: Shell) -> None:
    shell.write(c=NODE % "a")
    assert shell.refused() == (
        "understudy: which cluster? -f FILE reads one from files, --from-cluster the one that runs"
    )
    assert shell.refused("-f", "c.yaml", "--context", "x") == (
        "understudy: --context says where to look, and only --from-cluster looks: add it"
    )
    assert shell.refused("-f", "c.yaml", "-o", "xml").startswith("understudy plan: argument -o/--output: invalid")
    assert shell.refused("-f", "c.yaml", "--now", "noon").startswith("understudy: --now: 'noon' is not a time; write ")
    assert shell.refused("-f", "c.yaml", "--explain", "x") == "understudy: --explain: no gang 'x'; there is none"


def test_help_and_version(shell: Shell) -> None:
    assert shell.run("--version") == (0, f"understudy {__version__}\n", "")
    code, out, _ = shell.run("--help")
    assert code == 0
    assert "examples:" in out
    assert "plan" in out
    assert "demo" in out
    code, out, _ = shell.run("plan", "--help")
    assert code == 0
    assert "--what-if" in out
    assert "exit codes: 0" in out


def python_m(*arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "understudy", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=30, check=False)


def test_as_a_command_of_its_own_it_reads_stdin() -> None:
    done = python_m("plan", "-f", "-", given=joined(NODE % "a", POD % ("x", 1)))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("plan: 1 start\n")
    assert "\x1b" not in done.stdout


def test_as_a_command_of_its_own_it_ends_with_two_on_bad_input() -> None:
    done = python_m("plan", "-f", "-", given="kind: Nod\nmetadata: {name: x}\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("understudy: stdin: Nod default/x: kind: 'Nod' is not understood; did you mean Node?")
