"""The kinds of the API: their fields, defaults and checks, and their OpenAPI documents."""
