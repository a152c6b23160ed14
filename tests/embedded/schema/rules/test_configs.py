"""ConfigMaps and Secrets."""

from tests.embedded.schema.forms import Refusal, changed, created, draft_of, refusal_of, updated


def test_plain_text_of_a_secret_becomes_data() -> None:
    made = created("Secret", {"stringData": {"a": "hello"}, "data": {"b": "aGk="}})
    assert made["data"] == {"a": "aGVsbG8=", "b": "aGk="}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


def test_secrets_of_a_type_have_the_keys_of_the_type() -> None:
    said = refusal_of("Secret", {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}})
    assert said.causes == ["data[tls.key]: Required value"]
    said = refusal_of("Secret", {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{"}})
    assert said.causes == ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid JSON']


def test_keys_become_names_of_files_and_lead_nowhere_else() -> None:
    for key in ("..", ".", "a/b", "../x", "a b"):
        assert refusal_of("ConfigMap", {"data": {key: ""}}).causes[0].startswith(f"data[{key}]: Invalid value")
    assert created("ConfigMap", {"data": {".hidden": "", "a.b_c-d": ""}})


def test_there_is_a_limit_to_their_size() -> None:
    assert "Too long" in refusal_of("ConfigMap", {"data": {"a": "x" * (1024 * 1024 + 1)}}).message
    assert "Too long" in refusal_of("Secret", {"stringData": {"a": "x" * (1024 * 1024 + 1)}}).message


def test_what_is_immutable_cannot_change() -> None:
    old = draft_of("ConfigMap", {"data": {"a": "b"}, "immutable": True})
    with Refusal() as said:
        updated("ConfigMap", old, changed(old, "data", to={"a": "c"}))
    assert said.causes == ["data: Forbidden: field is immutable when `immutable` is set"]
    with Refusal() as said:
        updated("ConfigMap", old, changed(old, "immutable", to=None))
    assert said.causes == ["immutable: Forbidden: field is immutable when `immutable` is set"]
    assert updated("ConfigMap", old, changed(old, "metadata", "labels", to={"x": "y"}))


def test_the_type_of_a_secret_cannot_change() -> None:
    old = draft_of("Secret", {})
    with Refusal() as said:
        updated("Secret", old, changed(old, "type", to="mine"))
    assert said.causes == ['type: Invalid value: "mine": field is immutable']
