"""Fits, moments and scores on the cluster you have: frames of Dask and of Spark, which stay where they are."""

from quadric.distributed.frames import fit, moments, predict, train

__all__ = ["fit", "moments", "predict", "train"]
