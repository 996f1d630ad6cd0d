"""Judging an answer and its voters."""
