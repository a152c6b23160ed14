"""StatefulSets: pods with numbers, each with a name and claims that stay."""
