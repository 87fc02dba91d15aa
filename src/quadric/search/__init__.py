"""The non-convex part: which terms."""
