"""Our own words in the language of the reader.

English is the language of the source.  Other languages are gettext catalogues in `derive/locale`,
a file for each domain: the words of the program, the notes, and the texts of each topic's claims.
`{name}` in a message is a field that is filled in after the translation.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import resources
from typing import Final

from derive import po

ENGLISH: Final = "en"
LANGUAGES: Final = (ENGLISH, "zh")

PROGRAM: Final = "program"
"""What the program says by itself, whatever the claims are."""

_SPOKEN: ContextVar[str] = ContextVar("spoken", default=ENGLISH)
_UNSPACED: Final = frozenset({"zh"})
_FIELD: Final = re.compile(r"\{([a-z_]+)\}")


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Within it, what is said is said in this language, one of `LANGUAGES`."""
    if language not in LANGUAGES:
        raise ValueError(f"{language!r} is not one of {', '.join(LANGUAGES)}")
    token = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def language() -> str:
    """The language that is spoken now."""
    return _SPOKEN.get()


def suffix(language: str) -> str:
    """What tells the files of a language from those in English: both may lie in one folder."""
    return "" if language == ENGLISH else f"-{language}"


def mark(message: str) -> str:
    """The message itself, which is said later: so that the catalogue of the program has it."""
    return message


def say(message: str, **fields: object) -> str:
    """A message of the program, with its fields filled in."""
    return _filled(told(message, PROGRAM), fields)


def counted(one: str, many: str, number: int, **fields: object) -> str:
    """The message for this number, which is its field `number`."""
    said = _catalogue(language(), PROGRAM).ngettext(one, many, number)
    return _filled(said, {"number": number, **fields})


def sentences(*said: str) -> str:
    """Sentences one behind the other; Chinese puts no space between them."""
    return space().join(filter(None, said))


def space() -> str:
    """What stands between two sentences."""
    return "" if language() in _UNSPACED else " "


def listing(*said: str) -> str:
    """Texts in a list."""
    return say(", ").join(said)


def told(text: str, domain: str) -> str:
    """A text of this domain, or else of the program; one that is in neither stays as it is."""
    if language() == ENGLISH or not text:
        return text
    found = _catalogue(language(), domain).gettext(text)
    if found == text and domain != PROGRAM:
        found = _catalogue(language(), PROGRAM).gettext(text)
    return found


def _filled(message: str, fields: dict[str, object]) -> str:
    """Braces that name no field belong to a formula."""
    return _FIELD.sub(lambda f: str(fields[f[1]]) if f[1] in fields else f[0], message)


@cache
def _catalogue(language: str, domain: str) -> gettext.NullTranslations:
    """An empty one where there is no file."""
    entries = entries_of(language, domain)
    return po.translations(entries) if entries else gettext.NullTranslations()


def entries_of(language: str, domain: str) -> list[po.Entry]:
    """What the file of a domain holds; nothing if there is none."""
    if language == ENGLISH:
        return []
    file = resources.files("derive").joinpath("locale", language, "LC_MESSAGES", f"{domain}.po")
    if not file.is_file():
        return []
    return po.parse(file.read_text("utf-8"), f"{language}/{domain}.po")
