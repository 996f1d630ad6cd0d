"""Sums over groups, K^c as a product, conjugate gradients, and the steps of EM."""
