"""What users give: files of objects, settings, times."""
