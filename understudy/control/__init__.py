"""The loops that are the same in every world; first of them the view, which turns objects into snapshots."""
