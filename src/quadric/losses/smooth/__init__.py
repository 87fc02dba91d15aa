"""Smooth convex losses of the margin: their machinery, for the formulas (formulas.py) that one file per loss gives."""
