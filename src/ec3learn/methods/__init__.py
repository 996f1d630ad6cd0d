"""The consensus methods, one file each."""
