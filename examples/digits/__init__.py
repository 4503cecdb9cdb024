"""A data-parallel training run on handwritten digits."""
