"""Quantities as Kubernetes writes them: `500m`, `1.5Gi`, `1e3`. Exact; only what leaves here is rounded, upwards."""

import math
import re
from decimal import Decimal

from definitions.quantities import QuantityError

_FORM = re.compile(
    r"([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,18})?|\.[0-9]{1,18}))(n|u|m|[kMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?"
)
_UNITS: dict[str, Decimal] = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
}


def parse_kube_quantity(value: object) -> Decimal:
    """Read a quantity of the API, text or number. Raises QuantityError."""
    match = (
        _FORM.fullmatch(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    )
    if match is None:
        raise QuantityError(f"{str(value)[:60]!r} is no quantity", "write a number with a unit, such as 500m or 10Gi")
    number, unit = match.groups(default="")
    if unit not in _UNITS:
        return Decimal(number + unit)
    return Decimal(number) * _UNITS[unit]


def whole_bytes(value: object) -> int:
    """A size in bytes. Raises QuantityError."""
    return math.ceil(parse_kube_quantity(value))


def cpu_millis(value: object) -> int:
    """Processors in thousandths. Raises QuantityError."""
    return math.ceil(parse_kube_quantity(value) * 1000)
