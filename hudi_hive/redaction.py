"""Removes secrets and terminal control characters from texts and options that are shown or logged.

Used by every error (:mod:`hudi_hive.errors`), by reprs, and by what prints options. What works with a secret holds
it as it is; pickles have references in place of secrets (:mod:`hudi_hive.secret_references`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

HIDDEN: Final = "***"
"""Stands for a secret."""

_NAME: Final = (
    r"(?:password|passwd|passphrase|pwd|secret|credentials?|signature"
    r"|(?:access|account|api|private|shared|encryption|sse_customer)[._\-]?key(?:[._\-]?id)?"
    r"|(?:session|security|sas|auth|access|refresh|bearer|delegation|oauth2?)[._\-]?token)"
)
# Bounded, so that no text takes more than linear time.
_QUOTED: Final = r"""'(?:[^'\\]|\\.){0,4096}'|"(?:[^"\\]|\\.){0,4096}\""""
_PAIR: Final = re.compile(
    rf"({_NAME}[\w.\-]{{0,40}})(=|%3D|['\"]?\s{{0,3}}=>?\s{{0,3}}|['\"]\s{{0,3}}[:,]\s{{0,3}})"
    rf"({_QUOTED}|[^\s&;,'\"(){{}}<>\[\]]{{1,4096}})",
    re.IGNORECASE,
)
_QUERY: Final = re.compile(r"([?&;](?:sig|token|key|code|auth|pass|pw)=)([^&;\s'\"]{1,4096})", re.IGNORECASE)
_BEARER: Final = re.compile(r"\b(Bearer|Basic)\s{1,3}([A-Za-z0-9+/=._~\-]{8,4096})")
_USER: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]{0,30})://([^/\s?#'\"<>]{1,2048})@")
# A password may have slashes, as many secret keys do: then what stands before them is no port.
_SLASHED: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.\-]{0,30})://([^/\s@:'\"]{1,512}:(?!\d+(?:[/,;?#\s'\"]|$))[^\s'\",]{1,1024})@"
)
_NAMED_USERS: Final = frozenset(
    (
        *("az", "abfs", "abfss", "wasb", "wasbs", "adl", "hdfs", "viewfs", "webhdfs", "swebhdfs", "sftp", "ftp"),
        *("ftps", "ssh", "thrift", "thrift+tls", "hive2", "mysql"),
    )
)
"""Schemes whose authority may begin with a mere name: of a container, or of a user."""

_SECRET_NAME: Final = re.compile(
    rf"{_NAME}|^(?:sig|token|key|secret_key)$|[._\-](?:token|sig|key)$|^fs\.azure\.sas\.", re.IGNORECASE
)
_NO_SECRETS: Final = re.compile(
    r"(?:record|(?<![a-z])lock)[._\-]?key|key[._\-]?(?:gen|file|field)"
    r"|partition|primary|ordering|password[._\-]?file|keytab",
    re.IGNORECASE,
)


# Control characters but tab and newline, and what turns the direction of text around or hides it.
_STEERING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Replace characters that control a terminal or reorder text by their numbers."""
    return _STEERING.sub(_number, text)


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escaped(text: str) -> str:
    """JSON text in which the characters that :func:`printable` replaces are JSON escapes."""
    return _STEERING.sub(_json_escape, text)


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def redact(text: str, secrets: Collection[str] = ()) -> str:
    """Replace the secrets in a text.

    Hidden are user information of URIs (but for mere names where a scheme has them), values of names such as
    ``password``, ``secret_key``, ``sas_token`` and ``sig`` in queries, JDBC addresses and printed options, and bearer
    tokens.

    Args:
        text: what is about to be shown.
        secrets: values to hide wherever they stand.
    """
    for secret in secrets:
        if len(secret) > 3:
            text = text.replace(secret, HIDDEN)
    if "@" in text and "://" in text:
        text = _SLASHED.sub(rf"\1://{HIDDEN}@", text)
        text = _USER.sub(_without_password, text)
    if "=" in text or ":" in text or "'" in text or "%3D" in text:
        text = _PAIR.sub(rf"\1\2{HIDDEN}", text)
        text = _QUERY.sub(rf"\1{HIDDEN}", text)
    if "Bearer" in text or "Basic" in text:
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    return text


def _without_password(match: re.Match[str]) -> str:
    scheme, user = match[1], match[2]
    if ":" not in user and "@" not in user and scheme.lower() in _NAMED_USERS:
        return match[0]
    return f"{scheme}://{HIDDEN}@"


def without_credentials(uri: str) -> str:
    """Remove the password, or the access keys before a bucket, from a URI that others may store."""
    hidden = f"://{HIDDEN}@"
    match = _SLASHED.match(uri) or _USER.match(uri)
    if match is None or hidden not in redact(match[0]):
        return uri
    scheme, user = match[1], match[2].partition(":")[0]
    kept = f"{user}@" if scheme.lower() in _NAMED_USERS and ":" in match[2] else ""
    return f"{scheme}://{kept}{uri[match.end() :]}"


def is_secret(name: str) -> bool:
    """Whether an option of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None and _NO_SECRETS.search(name) is None


def redact_options(options: Mapping[str, object]) -> dict[str, object]:
    """Replace the secrets among options: values with secret names, user information and signatures in other values."""
    return {
        name: HIDDEN if is_secret(name) else redact(value) if isinstance(value, str) else value
        for name, value in options.items()
    }


def secret_values(options: Mapping[str, object]) -> list[str]:
    """The secret values among options, which are to be removed wherever they occur."""
    return [value for name, value in options.items() if isinstance(value, str) and is_secret(name)]
