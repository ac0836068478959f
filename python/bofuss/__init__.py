"""The bofuss switch, for Python."""
