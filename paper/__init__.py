"""The paper's experiments: run them, and make tables, figures and a page from their rows."""
