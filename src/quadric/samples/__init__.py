"""What a model is learned from, wherever it is: sources of rows, their units, folds, random sample and sums."""
