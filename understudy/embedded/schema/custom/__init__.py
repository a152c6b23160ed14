"""Custom resources: kinds defined by a CustomResourceDefinition, checked against its schema."""
