"""`make mutants`: plant every fault of the catalog in a copy of the tree and want its test to notice."""

import sys

import pytest

from workers.leave import leave

leave(int(pytest.main(["-m", "mutants", "-v", "tests/mutants", *sys.argv[1:]])))
