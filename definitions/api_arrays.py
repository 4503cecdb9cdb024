"""Arrays as the API shows them."""

from typing import Annotated

from definitions.api_base import View, doc
from definitions.states import Phase


class ArrayView(View):
    """What an array is made of, and where its jobs are."""

    first: Annotated[int, doc("First index.", 0)]
    last: Annotated[int, doc("Last index that was asked for.", 99)]
    step: Annotated[int, doc("Distance between two indexes.", 1)]
    limit: Annotated[int, doc("How many of its jobs are under way at once.", 10)]
    count: Annotated[int, doc("How many jobs it comes to.", 100)]
    jobs: Annotated[
        dict[Phase, int], doc("How many of those that were made are in each phase.", {"Running": 10, "Succeeded": 30})
    ] = {}
    left: Annotated[int, doc("How many were not made yet.", 60)]
    failed: Annotated[list[int], doc("The lowest indexes that failed, 20 at most; empty in lists.", [7, 12])] = []
