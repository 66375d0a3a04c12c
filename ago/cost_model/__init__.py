"""Cost models: what a schedule will cost, from plain features and the target."""
