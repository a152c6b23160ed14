"""The API as data and pure functions: served resources, discovery, selectors, reviews, patches, tables."""
