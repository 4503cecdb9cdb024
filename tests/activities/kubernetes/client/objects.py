"""Objects that the tests of the client make."""

from typing import Any


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def refusal(code: int, reason: str, message: str, **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
            "details": details}  # fmt: skip
