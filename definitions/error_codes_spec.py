"""Codes PD-1000 to PD-1599: documents, fields, templates, refused fields."""
