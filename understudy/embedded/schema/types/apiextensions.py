"""CustomResourceDefinitions: kinds that users bring, and the schemas of their fields."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, field

from understudy.embedded.schema.types.meta import ApiStruct, KubeObject
from understudy.embedded.schema.types.values import Int32, Int64, Maybe, NonEmpty, Time, keyed


class WebhookService(ApiStruct):
    """A service that answers a webhook."""

    name: NonEmpty
    namespace: NonEmpty
    path: Maybe[str] = UNSET
    port: Maybe[Int32] = UNSET


class WebhookClientConfig(ApiStruct):
    """How a webhook is reached."""

    ca_bundle: Maybe[str] = UNSET
    service: Maybe[WebhookService] = UNSET
    url: Maybe[str] = UNSET


class WebhookConversion(ApiStruct):
    """Conversion by a webhook."""

    conversion_review_versions: list[str]
    client_config: Maybe[WebhookClientConfig] = UNSET


class CustomResourceConversion(ApiStruct):
    """How objects are turned from one version into another."""

    strategy: Literal["None", "Webhook"] = "None"
    webhook: Maybe[WebhookConversion] = UNSET


class CustomResourceDefinitionNames(ApiStruct):
    """The names of the kind."""

    kind: NonEmpty
    plural: NonEmpty
    categories: Maybe[list[str]] = UNSET
    list_kind: Maybe[str] = UNSET
    short_names: Maybe[list[str]] = UNSET
    singular: Maybe[str] = UNSET


class CustomResourceColumnDefinition(ApiStruct):
    """A column that kubectl get shows."""

    name: NonEmpty
    json_path: NonEmpty
    type: Literal["integer", "number", "string", "boolean", "date"]
    description: Maybe[str] = UNSET
    format: Maybe[str] = UNSET
    priority: Maybe[Int32] = UNSET


class SelectableField(ApiStruct):
    """A field that field selectors may name."""

    json_path: NonEmpty


class CustomResourceSubresourceScale(ApiStruct):
    """Where the number of replicas is."""

    spec_replicas_path: NonEmpty
    status_replicas_path: NonEmpty
    label_selector_path: Maybe[str] = UNSET


class CustomResourceSubresources(ApiStruct):
    """The sub-resources of the kind."""

    scale: Maybe[CustomResourceSubresourceScale] = UNSET
    status: Maybe[dict[str, Any]] = UNSET


class ExternalDocumentation(ApiStruct):
    """A link to further documentation."""

    description: Maybe[str] = UNSET
    url: Maybe[str] = UNSET


class ValidationRule(ApiStruct):
    """A rule in CEL. It is kept but not evaluated here."""

    rule: NonEmpty
    field_path: Maybe[str] = UNSET
    message: Maybe[str] = UNSET
    message_expression: Maybe[str] = UNSET
    optional_old_self: Maybe[bool] = UNSET
    reason: Maybe[str] = UNSET


class JSONSchemaProps(ApiStruct):
    """What one value may be."""

    ref: Maybe[str] = field(name="$ref", default=UNSET)
    dialect: Maybe[str] = field(name="$schema", default=UNSET)
    additional_items: "Maybe[bool | JSONSchemaProps]" = UNSET
    additional_properties: "Maybe[bool | JSONSchemaProps]" = UNSET
    all_of: "Maybe[list[JSONSchemaProps]]" = UNSET
    any_of: "Maybe[list[JSONSchemaProps]]" = UNSET
    default: Maybe[Any] = UNSET
    definitions: "Maybe[dict[str, JSONSchemaProps]]" = UNSET
    dependencies: Maybe[dict[str, Any]] = UNSET
    description: Maybe[str] = UNSET
    enum: Maybe[list[Any]] = UNSET
    example: Maybe[Any] = UNSET
    exclusive_maximum: Maybe[bool] = UNSET
    exclusive_minimum: Maybe[bool] = UNSET
    external_docs: Maybe[ExternalDocumentation] = UNSET
    format: Maybe[str] = UNSET
    id: Maybe[str] = UNSET
    items: "Maybe[JSONSchemaProps]" = UNSET
    max_items: Maybe[Int64] = UNSET
    max_length: Maybe[Int64] = UNSET
    max_properties: Maybe[Int64] = UNSET
    maximum: Maybe[float] = UNSET
    min_items: Maybe[Int64] = UNSET
    min_length: Maybe[Int64] = UNSET
    min_properties: Maybe[Int64] = UNSET
    minimum: Maybe[float] = UNSET
    multiple_of: Maybe[float] = UNSET
    never: "Maybe[JSONSchemaProps]" = field(name="not", default=UNSET)
    nullable: Maybe[bool] = UNSET
    one_of: "Maybe[list[JSONSchemaProps]]" = UNSET
    pattern: Maybe[str] = UNSET
    pattern_properties: "Maybe[dict[str, JSONSchemaProps]]" = UNSET
    properties: "Maybe[dict[str, JSONSchemaProps]]" = UNSET
    required: Maybe[list[str]] = UNSET
    title: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    unique_items: Maybe[bool] = UNSET
    embedded_resource: Maybe[bool] = field(name="x-kubernetes-embedded-resource", default=UNSET)
    int_or_string: Maybe[bool] = field(name="x-kubernetes-int-or-string", default=UNSET)
    list_map_keys: Maybe[list[str]] = field(name="x-kubernetes-list-map-keys", default=UNSET)
    list_type: Maybe[str] = field(name="x-kubernetes-list-type", default=UNSET)
    map_type: Maybe[str] = field(name="x-kubernetes-map-type", default=UNSET)
    preserve_unknown_fields: Maybe[bool] = field(name="x-kubernetes-preserve-unknown-fields", default=UNSET)
    validations: Maybe[list[ValidationRule]] = field(name="x-kubernetes-validations", default=UNSET)
    core_type: Maybe[str] = field(name="x-understudy-type", default=UNSET)  # a type of Kubernetes', by name


class CustomResourceValidation(ApiStruct):
    """What the objects of a version may say."""

    open_api_v3_schema: Maybe[JSONSchemaProps] = UNSET


class CustomResourceDefinitionVersion(ApiStruct):
    """One version of the kind."""

    name: NonEmpty
    served: bool
    storage: bool
    additional_printer_columns: Maybe[list[CustomResourceColumnDefinition]] = UNSET
    deprecated: Maybe[bool] = UNSET
    deprecation_warning: Maybe[str] = UNSET
    schema: Maybe[CustomResourceValidation] = UNSET
    selectable_fields: Maybe[list[SelectableField]] = UNSET
    subresources: Maybe[CustomResourceSubresources] = UNSET


class CustomResourceDefinitionSpec(ApiStruct):
    """The kind, its names and its versions."""

    group: NonEmpty
    names: CustomResourceDefinitionNames
    scope: Literal["Cluster", "Namespaced"]
    versions: Annotated[list[CustomResourceDefinitionVersion], Meta(min_length=1)]
    conversion: CustomResourceConversion = field(default_factory=CustomResourceConversion)
    preserve_unknown_fields: Maybe[bool] = UNSET


class CustomResourceDefinitionCondition(ApiStruct):
    """One thing that is true, false or unknown about the definition."""

    type: NonEmpty
    status: str
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class CustomResourceDefinitionStatus(ApiStruct):
    """Whether the kind is served."""

    accepted_names: Maybe[CustomResourceDefinitionNames] = UNSET
    conditions: Annotated[Maybe[list[CustomResourceDefinitionCondition]], keyed("type")] = UNSET
    stored_versions: Maybe[list[str]] = UNSET


class CustomResourceDefinition(KubeObject, kw_only=True):
    """A kind that users bring."""

    api_version: str = "apiextensions.k8s.io/v1"
    kind: str = "CustomResourceDefinition"
    spec: CustomResourceDefinitionSpec
    status: CustomResourceDefinitionStatus = field(default_factory=CustomResourceDefinitionStatus)
