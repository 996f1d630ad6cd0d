"""The paper's experiments: run into rows; tables, figures and a report made from rows alone."""
