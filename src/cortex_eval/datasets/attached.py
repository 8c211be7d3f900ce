"""Files that belong to a case, such as recordings: they lie beside the dataset, which pins what is in them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from cortex_eval.core import Attachment, TargetError
from cortex_eval.datasets.problems import Mistake, quoted

MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024
MEDIA_TYPES = {
    ".flac": "audio/flac",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".txt": "text/plain",
    ".wav": "audio/wav",
    ".webp": "image/webp",
}
"""Our own list: Python's depends on the machine."""


def media_type_of(name: str) -> str:
    """What a file's ending promises."""
    return MEDIA_TYPES.get(Path(name).suffix.lower(), "application/octet-stream")


def pin_attachments(row: dict[str, Any], folder: Path) -> None:  # Any: a case in canonical fields
    """Write the size and the SHA-256 of every attachment that is named by its path; `Mistake` when it cannot be had."""
    for turn in row["turns"]:
        for attached in turn.get("attachments", ()):
            if "sha256" not in attached:
                data = _read(attached["name"], folder)
                attached["sha256"], attached["size"] = hashlib.sha256(data).hexdigest(), len(data)


def read_attached(attachment: Attachment, folder: Path) -> bytes:
    """The bytes of an attachment whose dataset lies in this folder; `TargetError` when they are not what they were."""
    if not attachment.name:
        raise TargetError(f"The attachment {attachment.sha256[:12]} has no path to be read from.", kind="attachment")
    try:
        data = _read(attachment.name, folder)
    except Mistake as mistake:
        raise TargetError(f"{mistake.message[:1].upper()}{mistake.message[1:]}", kind="attachment") from None
    if hashlib.sha256(data).hexdigest() != attachment.sha256:
        raise TargetError(
            f"{attachment.name} is not the file that the dataset was read with. "
            "Give the new one another name, and write that into the dataset.",
            kind="attachment",
        )
    return data


def _read(name: str, folder: Path) -> bytes:
    here = folder.resolve()
    path = (here / name).resolve()
    if not path.is_relative_to(here):
        message = f"attachment {quoted(name)} must lie in the folder of the dataset, or below it."
        raise Mistake(message, field="attachments", code="outside")
    try:
        if not path.is_file():  # a pipe would be waited for
            message = f"attachment {quoted(name)}: there is no such file beside the dataset."
            raise Mistake(message, field="attachments", code="not_found")
        if (size := path.stat().st_size) > MAX_ATTACHMENT_BYTES:
            message = f"attachment {quoted(name)} has {size:,} bytes; at most {MAX_ATTACHMENT_BYTES:,} are read."
            raise Mistake(message, field="attachments", code="too_large")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        message = f"attachment {quoted(name)} cannot be read: {getattr(error, 'strerror', None) or error}."
        raise Mistake(message, field="attachments", code="not_found") from error
