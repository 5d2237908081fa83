"""The options that each face accepts, found by any of their names; what is unknown is refused with the nearest name.

:func:`fill` makes a group of settings of given options: a frozen dataclass whose fields are made by
:meth:`Option.field`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options.declaration import Face, Option, Outcome
from hudi_hive.options.harmless import HARMLESS_OPTIONS
from hudi_hive.options.jobs import JOB_OPTIONS
from hudi_hive.options.locks import LOCK_OPTIONS, VALIDATOR_OPTIONS
from hudi_hive.options.metastore import METASTORE_OPTIONS
from hudi_hive.options.metrics import METRICS_OPTIONS
from hudi_hive.options.read import READ_OPTIONS, SESSION_OPTIONS, SINK_OPTIONS, STREAM_OPTIONS
from hudi_hive.options.services import SERVICE_OPTIONS
from hudi_hive.options.storage import STORAGE_OPTIONS
from hudi_hive.options.sync import GLUE_OPTIONS, SYNC_OPTIONS
from hudi_hive.options.table import TABLE_OPTIONS
from hudi_hive.options.unsupported import UNSUPPORTED_OPTIONS
from hudi_hive.options.write import FILE_OPTIONS, INDEX_OPTIONS, METADATA_OPTIONS, ROW_OPTIONS

_Group = TypeVar("_Group")
_CUTOFF: Final = 0.75
"""How alike a name must be to one that is mistyped for it to be suggested."""

GROUPS: Final[dict[str, tuple[Option[Any], ...]]] = {
    "The table": TABLE_OPTIONS,
    "Rows of a write": ROW_OPTIONS,
    "Files": FILE_OPTIONS,
    "Index": INDEX_OPTIONS,
    "Metadata table": METADATA_OPTIONS,
    "Metrics": METRICS_OPTIONS,
    "Table services": SERVICE_OPTIONS,
    "Several writers, locks": LOCK_OPTIONS,
    "Checks before a commit": VALIDATOR_OPTIONS,
    "Reads": READ_OPTIONS,
    "Streams": STREAM_OPTIONS,
    "Streams that write": SINK_OPTIONS,
    "Hive jobs": JOB_OPTIONS,
    "Syncs": SYNC_OPTIONS,
    "Syncs to AWS Glue": GLUE_OPTIONS,
    "Metastore": METASTORE_OPTIONS,
    "Stores": STORAGE_OPTIONS,
    "Sessions of Spark": SESSION_OPTIONS,
    "Harmless": HARMLESS_OPTIONS,
    "Not supported": UNSUPPORTED_OPTIONS,
}
"""All options, by subject."""

ALL_OPTIONS: Final[tuple[Option[Any], ...]] = tuple(option for group in GROUPS.values() for option in group)


class OptionSet:
    """The options that one or more faces accept.

    Args:
        title: what they are the options of, for messages: ``write``.
        faces: whose options they are; an option of several is checked for the first of them.
        document: where users read about them.
    """

    def __init__(self, title: str, *faces: Face, document: str = "docs/options.md") -> None:
        self.title = title
        self._document = document
        self._faces: dict[str, tuple[Option[Any], Face]] = {}
        self._patterns: list[tuple[Option[Any], Face]] = []
        self._spellings: dict[str, str] = {}
        for option in ALL_OPTIONS:
            face = next((face for face in faces if face in option.faces), None)
            if face is not None:
                self._faces |= dict.fromkeys(option.names, (option, face))
                self._spellings |= {name.lower(): name for name in option.names}
                if option.pattern is not None:
                    self._patterns.append((option, face))

    def __iter__(self) -> Iterator[tuple[Option[Any], Face]]:
        return iter(dict.fromkeys(self._faces.values()))

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def _find(self, name: str) -> tuple[Option[Any], Face] | None:
        return self._faces.get(name) or next((one for one in self._patterns if one[0].matches(name)), None)

    def get(self, name: str) -> Option[Any] | None:
        """The option of a name, None for one that is not declared for these faces."""
        declared = self._find(name)
        return None if declared is None else declared[0]

    def spelled(self, name: str) -> str:
        """The declared spelling of a name in any case; a name that is not declared stays."""
        return self._spellings.get(name.lower(), name)

    def check(self, options: Mapping[str, str]) -> None:
        """Refuse options that are unknown, not supported, contradict each other, or whose text does not fit.

        Args:
            options: names and texts.

        Raises:
            InvalidOptionError: the first such option, by name.
        """
        for name, text in options.items():
            declared = self._find(name)
            if declared is None:
                raise self.unknown(name)
            option, face = declared
            option.check(face, name, text)
            if option.outcome(face) is not Outcome.REFUSED and option.aliases:
                option.of(options)  # refuses two names with different values

    def unknown(self, name: str) -> InvalidOptionError:
        """The error about a name that is no option of these faces: the nearest one, or whose option it is."""
        habit, nearest = remedy_of_habit(name), self._nearest(name)
        if habit is not None:
            remedy = habit
        elif nearest is not None:
            remedy = f"did you mean {nearest}?"
        else:
            faces = [face.value for option in ALL_OPTIONS if option.answers_to(name) for face in option.faces]
            # A write takes the options of locks and of its sync too.
            whose = f"it is an option of: {', '.join(dict.fromkeys(faces))}; " if faces else ""
            remedy = f"{whose}{self._document} lists the options of a {self.title}"
        return InvalidOptionError(f"unknown option {name!r}", remedy=remedy)

    def _nearest(self, mistyped: str) -> str | None:
        # Loaded only now: few runs need it.
        import difflib

        if any(option.answers_to(mistyped) for option in ALL_OPTIONS):
            return None
        names = [name for name, (option, _) in self._faces.items() if option.pattern is None]
        parts = mistyped.split(".")
        for end in range(2, len(parts)):
            table = ".".join(parts[1:end])
            names += [option.of_table(table) for option, _ in self._patterns if option.is_of_tables]
        close = difflib.get_close_matches(mistyped, names, n=1, cutoff=_CUTOFF)
        return close[0] if close else None


_HABITS: Final = {
    "mergeschema": "leave it out: the schema is the table's own, which writes and ALTER TABLE change",
    "basepath": "leave it out, and load the base path",
    "recursivefilelookup": "leave it out: the files of a table are those that its timeline names",
    "hoodie.datasource.view.type": (
        "it is hoodie.datasource.query.type now: snapshot (which was realtime), read_optimized or incremental"
    ),
    "hoodie.clustering.keygen.class": "leave it out: a test of Hudi's sets it, and no release reads it",
}
"""Options of other tables and older releases, and such as look like one, in small letters -> what to do instead."""


def remedy_of_habit(name: str) -> str | None:
    """What to do instead of giving an option that Spark's own file formats or older releases of Hudi have; or None."""
    return _HABITS.get(name.lower())


def options_of(group: type[Any]) -> Iterator[tuple[str, Option[Any]]]:
    """Field name and option of all fields of a dataclass that an option sets."""
    for item in fields(group):
        if "option" in item.metadata:
            yield item.name, item.metadata["option"]


def fill(group: type[_Group], options: Mapping[str, str]) -> _Group:
    """The settings that options give; options of other groups are passed over.

    Args:
        group: a dataclass whose fields are made by :meth:`Option.field`.
        options: names and texts.

    Raises:
        InvalidOptionError: a text that does not fit, or two names of one option with different values.
    """
    return group(**field_values(group, options))


def field_values(group: type[Any], options: Mapping[str, str]) -> dict[str, Any]:
    """The fields that options set, and their values; stand-ins count where a field's own option is not given.

    Raises:
        InvalidOptionError: as of :func:`fill`.
    """
    values: dict[str, Any] = {}
    for item in fields(group):
        option: Option[Any] | None = item.metadata.get("option")
        if option is None:
            continue
        if option.present_in(options):
            values[item.name] = option.of(options)
            continue
        other = next((name for name in item.metadata["stand_ins"] if name in options), None)
        if other is not None:
            values[item.name] = option.parse(options[other], other)
    return values


def outcomes(face: Face) -> dict[Outcome, list[Option[Any]]]:
    """What becomes of the options of a face."""
    by_outcome: dict[Outcome, list[Option[Any]]] = {outcome: [] for outcome in Outcome}
    for option in ALL_OPTIONS:
        if face in option.faces:
            by_outcome[option.outcome(face)].append(option)
    return by_outcome
