"""What verbs print with: tables, colours, terminals, JSON and YAML."""
