"""Custom resources: kinds that a CustomResourceDefinition brings, checked by the schema it gives."""
