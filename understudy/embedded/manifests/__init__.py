"""What every new cluster contains: definitions of custom resources, and objects."""
