"""What executions carry: JSON values, or any bytes.

A value is kept as JSON, `bytes` as they are, and a `Payload` with the media type that it names. What comes back is
decoded by its media type: JSON to its value, everything else to `bytes`.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any, Final

from .errors import InvalidRequest

__all__ = ["Payload"]

JSON: Final = "application/json"
BYTES: Final = "application/octet-stream"
MAX_BYTES: Final = 1 << 20
"""The most that one payload may have; the server refuses more."""


@dataclass(frozen=True)
class Payload:
    """Bytes and their media type."""

    data: bytes
    content_type: str = BYTES

    def value(self) -> Any:
        """The decoded value: of JSON what it describes, else the bytes."""
        if not self.content_type.startswith(JSON):
            return self.data
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError) as error:
            raise InvalidRequest(f"the payload is not JSON: {error}", code="bad_payload") from error

    def fields(self, name: str) -> dict[str, str]:
        """The fields of a request that carry it; always base64, so that every byte stays as it is."""
        return {f"{name}_base64": base64.b64encode(self.data).decode(), "content_type": self.content_type}


def encode(value: object) -> Payload:
    """A value as it is sent and kept."""
    if isinstance(value, Payload):
        payload = value
    elif isinstance(value, (bytes, bytearray, memoryview)):
        payload = Payload(bytes(value))
    else:
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            payload = Payload(text.encode(), JSON)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidRequest(f"the value is not JSON: {error}", code="bad_payload") from error
    if len(payload.data) > MAX_BYTES:
        why = f"the payload has {len(payload.data)} bytes; give at most {MAX_BYTES}, or a reference to more"
        raise InvalidRequest(why, code="too_large")
    return payload


def decode(view: dict[str, Any], name: str) -> Any:
    """The value in the fields of an answer: JSON as it is, or base64."""
    encoded = view.get(f"{name}_base64")
    if encoded is None:
        return view.get(name)
    return Payload(base64.b64decode(encoded), view.get("content_type") or BYTES).value()


def decode_text(view: dict[str, Any]) -> Any:
    """The value of a payload that is shown as text or base64."""
    data = view["text"].encode() if view.get("text") is not None else base64.b64decode(view.get("base64") or "")
    return Payload(data, view["content_type"]).value()
