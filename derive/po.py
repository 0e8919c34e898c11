"""Reads gettext catalogues in their source form (`.po`), so that nothing has to be compiled.

The standard library reads only the binary form; what is read here is packed into that form and
handed over to it.
"""

from __future__ import annotations

import gettext
import io
import re
import struct
from dataclasses import dataclass, field
from typing import Final

_LINE: Final = re.compile(r'(?:(msgid|msgid_plural|msgstr(?:\[(\d+)\])?) +)?"(.*)"')
_ESCAPE: Final = re.compile(r"\\(.)")
_MEANING: Final = {"n": "\n", "t": "\t", "r": "\r"}
_MAGIC: Final = 0x950412DE


class PoSyntax(ValueError):
    """A line that does not belong into a catalogue; the message names file and line."""


@dataclass
class Entry:
    """One message: English, its plural if it has one, and the translations, one a plural form."""

    msgid: str = ""
    plural: str = ""
    translations: dict[int, str] = field(default_factory=dict)
    fuzzy: bool = False

    @property
    def translated(self) -> bool:
        """Whether there is a translation that somebody has looked at."""
        return not self.fuzzy and bool(self.translations) and all(self.translations.values())


def parse(text: str, where: str) -> list[Entry]:
    """The entries of a catalogue, its head (whose `msgid` is empty) first.

    Raises `PoSyntax`; `where` is the name of the file in its message.
    """
    entries: list[Entry] = []
    entry, part = Entry(), ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            if part:
                entry, part = _closed(entries, entry), ""
            entry.fuzzy |= line.startswith("#,") and "fuzzy" in line
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise PoSyntax(f"{where}:{number}: not a line of a catalogue")
        keyword, form, quoted = found.groups()
        if keyword == "msgid" and part:
            entry = _closed(entries, entry)
        part = keyword or part
        _add(entry, part, int(form or 0), _ESCAPE.sub(_unescaped, quoted))
    if part:
        _closed(entries, entry)
    return entries


def _closed(entries: list[Entry], entry: Entry) -> Entry:
    """Take the entry in, and give an empty one for what follows."""
    entries.append(entry)
    return Entry()


def _add(entry: Entry, part: str, form: int, text: str) -> None:
    """A string may stand on several lines, whose texts are joined."""
    if part == "msgid":
        entry.msgid += text
    elif part == "msgid_plural":
        entry.plural += text
    else:
        entry.translations[form] = entry.translations.get(form, "") + text


def _unescaped(found: re.Match[str]) -> str:
    return _MEANING.get(found[1], found[1])


def translations(entries: list[Entry]) -> gettext.GNUTranslations:
    """The catalogue as the standard library wants it; without what nobody has looked at."""
    told = {
        "\0".join(filter(None, (e.msgid, e.plural))).encode(): "\0".join(
            text for _, text in sorted(e.translations.items())
        ).encode()
        for e in entries
        if e.translated
    }
    return gettext.GNUTranslations(io.BytesIO(_packed(sorted(told.items()))))


def _packed(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """The binary form: a head, two tables of lengths and places, and the texts."""
    texts = [key for key, _ in pairs] + [value for _, value in pairs]
    place = 28 + 8 * len(texts)
    table = []
    for text in texts:
        table += [len(text), place]
        place += len(text) + 1
    head = (_MAGIC, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return struct.pack(f"<{7 + len(table)}I", *head, *table) + b"".join(t + b"\0" for t in texts)
