"""Bridges to other tools' interfaces: crowd-kit, inspect_ai and MLflow."""
