"""Files into documents: every form Kubernetes objects come in, and every way a file can be no such thing."""

import io
import sys
from pathlib import Path

import pytest

from understudy.cli.errors import BadInput
from understudy.cli.input.documents import Document, Text, parse, read

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n"


def names(documents: list[Document]) -> list[object]:
    return [d.value["metadata"]["name"] for d in documents]  # type: ignore[index]


def wrong(text: str, source: str = "c.yaml") -> str:
    with pytest.raises(BadInput) as caught:
        parse(Text(source, text))
    return str(caught.value)


def test_every_document_knows_its_number_and_line() -> None:
    text = "# a cluster\n" + NODE % "a" + "---\n---\n" + NODE % "b"
    found = parse(Text("c.yaml", text))
    assert [(d.number, d.line) for d in found] == [(1, 2), (2, 7)]
    assert found[1].place == "c.yaml: document 2 (line 7)"


def test_a_list_is_its_items_each_with_its_own_line() -> None:
    text = "kind: List\nitems:\n- kind: Node\n  metadata: {name: a}\n- kind: Pod\n  metadata: {name: b}\n"
    found = parse(Text("c.yaml", text))
    assert [(d.line, d.value["kind"]) for d in found] == [(3, "Node"), (5, "Pod")]


def test_items_of_a_typed_list_get_their_kind() -> None:
    text = '{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}'
    [found] = parse(Text("c.json", text))
    assert found.value == {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}


def test_json_objects_may_follow_each_other() -> None:
    found = parse(Text("c.json", '{"kind": "Node"}\n\n{"kind": "Pod"}\n'))
    assert [(d.line, d.value["kind"]) for d in found] == [(1, "Node"), (3, "Pod")]


def test_flow_style_yaml_is_yaml() -> None:
    assert names(parse(Text("c.yaml", "{kind: Node, metadata: {name: a}}"))) == ["a"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("at: 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("at: 2026-01-01", "2026-01-01"),
        ("at: 1:30", "1:30"),
        ("at: 010", 8),
        ("at: 0x10", 16),
        ("at: 12", 12),
        ("at: yes", True),
    ],
)
def test_scalars_are_read_as_kubernetes_reads_them(text: str, value: object) -> None:
    assert parse(Text("c.yaml", text))[0].value == {"at": value}


def test_anchors_and_merges_work() -> None:
    [found] = parse(Text("c.yaml", "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n"))
    assert found.value["b"] == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("kind: Node\nmetadata: [a\n", "c.yaml: line 3, column 1: not YAML: "),
        ("kind: Node\n\tname: a\n", "c.yaml: line 2, column 1: not YAML: "),
        ("kind: Node\nspec: {a: 1, a: 2}\n", "c.yaml: line 2: a: the key stands twice in one mapping; remove one"),
        ("just words\n", "c.yaml: line 1: 'just words' is no object; expected apiVersion, kind and metadata"),
        ("kind: Node\n---\n- 1\n", "c.yaml: line 3: '[1]' is no object; expected apiVersion, kind and metadata"),
        ("a: " + "[" * 5000 + "]" * 5000, "c.yaml: line 1: nested too deeply: more than 500 levels"),
        ("a: &a {b: *a}", "c.yaml: line 1: nested without end: an anchor refers to itself"),
        (
            "a: &a [1]\nb: &b [" + "*a, " * 999 + "]\nc: [" + "*b, " * 999 + "]",
            "c.yaml: line 3: its aliases stand for more than 4 MiB; write out what is needed",
        ),
        ("kind: List\nitems: 3\n", "c.yaml: line 1: List: items: expected a list of objects"),
        ("kind: List\nitems:\n- 3\n", "c.yaml: line 3: List: items[0]: expected an object"),
        ("a: !!python/object:os.system {}\n", "c.yaml: line 1, column 4: not YAML: "),
    ],
)
def test_what_is_no_object_is_named_by_file_and_line(text: str, complaint: str) -> None:
    assert wrong(text).startswith(complaint)
    assert "\n" not in wrong(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"kind": "Node",\n "metadata": }', "c.json: line 2: not JSON: expecting value"),
        ('{"kind": "Node"}\n{"a": 1, "a": 2}', "c.json: document at line 2: a: the key stands twice in one mapping; "),
    ],
)
def test_bad_json_is_named_by_file_and_line(text: str, complaint: str) -> None:
    assert wrong(text, "c.json").startswith(complaint)


def test_a_directory_gives_its_files_sorted(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text(NODE % "b")
    (tmp_path / "a.yaml").write_text(NODE % "a")
    (tmp_path / "c.json").write_text('{"kind": "Node", "metadata": {"name": "c"}}')
    (tmp_path / "README.md").write_text("no object")
    (tmp_path / ".hidden.yaml").write_text("no object")
    assert names(read([str(tmp_path)])) == ["a", "b", "c"]


def test_stdin_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(NODE.encode() % b"a")))
    assert [(d.source, d.number) for d in read(["-"])] == [("stdin", 1)]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    empty, binary, full = tmp_path / "empty.yaml", tmp_path / "b.yaml", tmp_path / "full.yaml"
    (tmp_path / "nothing").mkdir()
    empty.write_text("# only words\n---\n")
    binary.write_bytes(b"\xff\xfe\x00")
    full.write_text(NODE % "a")
    cases = {
        (str(tmp_path / "absent.yaml"),): "absent.yaml: no such file; check the path",
        (str(tmp_path / "nothing"),): "nothing: the directory has no .yaml, .yml or .json file in it",
        (str(empty),): "empty.yaml: there is no object in it; expected Kubernetes objects as YAML or JSON",
        (str(binary),): "b.yaml: not text in UTF-8 (byte 0); expected YAML or JSON",
        (str(full), str(full)): "full.yaml: given twice; name it once",
    }
    for given, complaint in cases.items():
        with pytest.raises(BadInput) as caught:
            read(given)
        assert str(caught.value).endswith(complaint)
