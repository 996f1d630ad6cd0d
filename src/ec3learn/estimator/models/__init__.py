"""Base classifiers and base clusterings."""
