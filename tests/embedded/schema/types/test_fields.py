"""Every field of Kubernetes 1.33 is declared for the kinds served, except below volumes that are not mounted and specs
that have no effect."""

import json
from pathlib import Path

from msgspec import inspect

from understudy.embedded.api.builtin_resources import BUILTIN
from understudy.embedded.schema.decoding_errors import without_metadata
from understudy.embedded.schema.field_descriptions import FIELD_DESCRIPTIONS
from understudy.embedded.schema.typed_form import TypedForm

KNOWN: dict[str, list[str]] = json.loads((Path(__file__).parent / "fields-1.33.json").read_text())


OUR_OWN = {"x-understudy-type"}


def declared() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}

    def visit(kind: inspect.Type) -> None:
        match without_metadata(kind):
            case inspect.StructType(cls=cls, fields=fields) if cls.__name__ not in found:
                found[cls.__name__] = sorted({field.encode_name for field in fields} - OUR_OWN)
                for field in fields:
                    visit(field.type)
            case inspect.ListType(item_type=item) | inspect.DictType(value_type=item):
                visit(item)
            case inspect.UnionType(types=types):
                for one in types:
                    visit(one)

    for served in BUILTIN:
        assert isinstance(served.form, TypedForm)
        visit(inspect.type_info(served.form.struct))
    return found


def test_all_fields_of_kubernetes_are_known() -> None:
    assert declared() == KNOWN


def test_only_fields_that_exist_are_explained() -> None:
    structs = declared()
    for struct, words in FIELD_DESCRIPTIONS.items():
        assert set(words) <= set(structs[struct]), struct
