"""Sums over groups, K^c as a product, conjugate gradients."""
