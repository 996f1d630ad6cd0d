"""Bridges to other tools: crowd-kit, inspect_ai, promptfoo, deepeval and MLflow."""
