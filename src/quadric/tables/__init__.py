"""Read tables of raw data, and encode their columns as numbers for a classifier."""

from quadric.tables.encoder import TableEncoder, structural_exclusions
from quadric.tables.inputs import CodedFeature, InputColumn
from quadric.tables.parts import TableStream
from quadric.tables.reading import read_chunks, read_table
from quadric.tables.table import Table, as_table
from quadric.tables.targets import target_labels

__all__ = [
    "CodedFeature",
    "InputColumn",
    "Table",
    "TableEncoder",
    "TableStream",
    "as_table",
    "read_chunks",
    "read_table",
    "structural_exclusions",
    "target_labels",
]
