"""The command line: ``derive list``, ``show``, ``verify``, ``report`` and ``count``.

Results go to standard output, messages to standard error.  The exit status is 0 if every verdict
is the expected one and every twin agrees, 1 if not, and 2, after one line on standard error, for
an error in what was asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from derive.catalogue import (
    InputError,
    NoMatch,
    all_claims,
    is_file,
    matches,
    places_of_claims,
    select,
)

if TYPE_CHECKING:
    from derive.claim import Claim
    from derive.replay import Replay
    from derive.report.model import Figure
    from derive.result import Result
    from derive.runner import Progress
    from derive.store import Store

FORMATS: Final = ("tex", "html", "pdf")
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
_DISTRIBUTION: Final = "derive-transformer"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit status."""
    return _guarded(lambda: _run(sys.argv[1:] if argv is None else argv))


def entry() -> NoReturn:
    """The program: `main`, and an end that does not take apart what the system frees anyway."""
    status = main()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


def main_for(claims: Sequence[Claim]) -> int:
    """What the module of a topic does as a script: settle its claims and show them."""
    return _guarded(lambda: _show_claims(tuple(claims)))


def run_topic(module: ModuleType) -> int:
    """`main_for` the claims of a module."""
    return main_for(module.CLAIMS)


def _guarded(run: Callable[[], int]) -> int:
    """Turn what can go wrong outside the claims into messages and exit statuses."""
    try:
        return run()
    except InputError as error:
        print(f"derive: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _silence_output()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("derive: interrupted", file=sys.stderr)
        return INTERRUPTED


def _processors() -> int:
    """How many processes are worth while."""
    own = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    return min(4, len(own))


def _silence_output() -> None:
    """Let nothing be flushed to a standard output that takes no more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# ---------------------------------------------------------------------------- arguments


class _Parser(argparse.ArgumentParser):
    """Reports what is wrong in one line, like every other error in the input."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


class _Formats(argparse.Action):
    """``--format tex pdf``; what follows and is no format is a claim, as in other commands."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        known = list(dict.fromkeys(v for v in values if v in FORMATS))
        if values[0] not in FORMATS:
            choices = ", ".join(FORMATS)
            raise argparse.ArgumentError(self, f"{values[0]!r} is not one of {choices}")
        namespace.formats = [*(namespace.formats or ()), *known]
        namespace.more = [*namespace.more, *(v for v in values if v not in FORMATS)]


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    args, rest = _parser().parse_known_args(argv)
    unknown = [a for a in rest if a.startswith("-")] if hasattr(args, "patterns") else rest
    if unknown:
        raise InputError(f"unrecognized arguments: {' '.join(unknown)} (see derive --help)")
    args.command_line = shlex.join(["derive", *argv])
    if hasattr(args, "patterns"):
        # Claims may stand on both sides of an option; argparse gives the later ones back.
        args.patterns = [*args.patterns, *getattr(args, "more", ()), *rest]
    return args


def _parser() -> _Parser:
    parser = _Parser(
        prog="derive",
        allow_abbrev=False,
        description="Settles claims of Transformer mathematics: proved, conditional or refuted.",
        epilog="Exit status: 0 all as expected, 1 not all, 2 error in the input.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="the version of the program")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")

    listing = _command(commands, "list", _list, "the claims and the places that they cover")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    listing.add_argument("--source", metavar="DOC", help="only this document, place by place")

    show = _command(commands, "show", _show, "one claim in full, or what is trusted")
    what = show.add_mutually_exclusive_group(required=True)
    what.add_argument("id", nargs="?", metavar="ID", help="the claim")
    what.add_argument(
        "--axioms", action="store_true", help="the closed list of rules, axioms and laws"
    )

    verify = _command(commands, "verify", _verify, "settle claims, run their twins, replay proofs")
    _add_claims(verify)
    verify.add_argument(
        "--json", metavar="FILE", help="write one JSON object to FILE, or - to stdout"
    )
    _add_seed(verify)
    verify.add_argument(
        "--fresh", action="store_true", help="find every proof again instead of recalling it"
    )
    verify.add_argument(
        "--no-twins", action="store_false", dest="twins", help="proofs only, no numbers"
    )
    verify.add_argument(
        "--mutations", action="store_true", help="make the mistakes that have to be caught, too"
    )
    verify.add_argument(
        "--jobs", metavar="N", type=_positive, default=_processors(),
        help="processes (as many as there are processors, at most 4)",
    )  # fmt: skip
    verify.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=_seconds,
        help="for each claim, and for loading a file (none)",
    )

    report = _command(commands, "report", _report, "write the derivation report")
    _add_claims(report)
    report.add_argument("--out", metavar="DIR", default="report", help="the folder (report)")
    report.add_argument(
        "--format", metavar="FORMAT", nargs="+", action=_Formats, dest="formats",
        help="tex, html or pdf, which needs TeX (tex and html)",
    )  # fmt: skip
    report.add_argument(
        "--lang", metavar="LANGUAGE", type=_language, default="en",
        help="of all words that are not part of a formula: en or zh (en)",
    )  # fmt: skip
    report.add_argument(
        "--fragment", action="store_true",
        help="instead, each claim as LaTeX without a preamble, and a style for it",
    )  # fmt: skip
    report.set_defaults(more=[])
    _add_seed(report)

    certify = _command(commands, "certify", _certify, "write the proofs as sources for Coq")
    _add_claims(certify)
    certify.add_argument(
        "--out", metavar="DIR", default="certificates", help="the folder (certificates)"
    )
    certify.add_argument(
        "--check", action="store_true", help="compile and audit them, which needs Coq"
    )
    certify.add_argument(
        "--recheck", action="store_true",
        help="the same, and check Coq's library and all proofs with coqchk, too (minutes)",
    )  # fmt: skip
    certify.add_argument("--json", metavar="FILE", help="write what was certified, or - to stdout")

    _add_count(commands)
    return parser


def _add_count(commands: Any) -> None:
    counting = _command(commands, "count", _count, "parameters, operations and memory of a model")
    what = counting.add_mutually_exclusive_group(required=True)
    what.add_argument("config", nargs="?", metavar="CONFIG.json", help="its configuration")
    what.add_argument(
        "--published", action="store_true", help="published totals against exact counts"
    )
    counting.add_argument(
        "--set", metavar="NAME=N", action="append", default=[], dest="settings",
        help="n or m, tokens of the (source) sequence; bytes, of a number",
    )  # fmt: skip
    counting.add_argument(
        "--json", metavar="FILE", help="write one JSON object to FILE, or - to stdout"
    )
    counting.add_argument(
        "--explain", action="store_true", help="from the shapes to closed forms to numbers"
    )


def _command(commands: Any, name: str, run: Callable[[Any], int], about: str) -> _Parser:
    parser: _Parser = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
    parser.set_defaults(run=run)
    return parser


def _add_claims(parser: _Parser) -> None:
    parser.add_argument(
        "patterns", nargs="*", metavar="CLAIM",
        help="an id, a glob over ids, or a Python file that defines CLAIMS; all claims without",
    )  # fmt: skip


def _add_seed(parser: _Parser) -> None:
    parser.add_argument(
        "--seed", metavar="N", type=_natural, default=0, help="of the numeric twins (0)"
    )


def _language(text: str) -> str:
    from derive.messages import LANGUAGES

    if text not in LANGUAGES:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(LANGUAGES)}")
    return text


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 100):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


class _Version(argparse.Action):
    """``--version``, looked up only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        _write(f"{_version()}\n")
        parser.exit()


def _version() -> str:
    from importlib import metadata

    try:
        return f"derive {metadata.version(_DISTRIBUTION)}"
    except metadata.PackageNotFoundError:
        return "derive (not installed: run from its sources)"


# ---------------------------------------------------------------------------- commands


def _run(argv: Sequence[str]) -> int:
    args = _parse(argv)
    status: int = args.run(args)
    return status


def _list(args: argparse.Namespace) -> int:
    from derive import jsonout, terminal

    if args.source is not None:
        return _list_source(args.source, as_json=args.json)
    claims = all_claims()
    if args.json:
        _write(jsonout.dumps(jsonout.claims_object(claims)))
    else:
        _write(terminal.list_claims(claims, _style()))
    return 0


def _list_source(wanted: str, *, as_json: bool) -> int:
    """A document place by place, with the verdicts, which are found as `verify` finds them."""
    from derive import jsonout, runner, terminal
    from derive.places import places_of

    claims = all_claims()
    document = _document(claims, wanted)
    ids = [c.id for c in claims if c.source.document == document]
    results = _settled(ids)
    places = places_of(document, [p for r in results for p in r.source.places])
    if as_json:
        chosen = [c for c in claims if c.source.document == document]
        _write(jsonout.dumps(jsonout.places_object(chosen, places, results)))
    else:
        _write(terminal.list_places(document, places, results, _style()))
    return int(runner.failed(results))


def _document(claims: Sequence[Claim], wanted: str) -> str:
    """The document of this name, or the only one whose name starts like this."""
    documents = list(dict.fromkeys(c.source.document for c in claims))
    found = [d for d in documents if d == wanted] or [d for d in documents if d.startswith(wanted)]
    if len(found) != 1:
        problem = "several documents are" if found else "no document is"
        raise InputError(f"--source: {problem} called {wanted!r}; there are {', '.join(documents)}")
    return found[0]


def _show(args: argparse.Namespace) -> int:
    from derive import terminal

    if args.axioms:
        _write(terminal.trusted_base(_style()))
        return 0
    return _show_results(_settled([args.id], mutations=True))


def _show_claims(claims: Sequence[Claim]) -> int:
    return _show_results(_results(claims, mutations=True))


def _show_results(results: Sequence[Result]) -> int:
    from derive import runner, terminal

    style = _style()
    _write("\n".join(terminal.show(r, style) for r in results))
    if len(results) > 1:
        _write("\n" + terminal.counts(results))
    return int(runner.failed(results))


def _verify(args: argparse.Namespace) -> int:
    from derive import jsonout, runner, terminal

    to_file = None if args.json in {None, "-"} else _File("--json", args.json)
    start = time.perf_counter()
    results = _settled(
        args.patterns, fresh=args.fresh, seed=args.seed, jobs=args.jobs,
        time_limit=args.time_limit, mutations=args.mutations, twins=args.twins,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if args.json is not None:
        found = jsonout.dumps(jsonout.results_object(results, seed=args.seed, seconds=seconds))
        (_write if to_file is None else to_file.write)(found)
    if args.json != "-":
        _write(terminal.verified(results, _style(), seed=args.seed, seconds=seconds))
    return int(runner.failed(results))


def _report(args: argparse.Namespace) -> int:
    from derive import report, runner, store

    out = Path(args.out)
    _refuse_no_folder(out)
    if args.fragment:
        return _fragments(args, out)
    with _pictures(args) as pictures:
        results = _settled(args.patterns, seed=args.seed, mutations=True)
        with _one_line("report", report.ReportError):
            figures = pictures()
    asked = args.formats or report.FORMATS
    needed = {*asked, "tex"} if "pdf" in asked else {*asked}
    settings = {"Command": args.command_line, "Seed": str(args.seed), **_versions()}
    with _one_line(f"--out {out}", report.ReportError):
        written = report.write_report(
            results, out, settings=settings, complete=not args.patterns, figures=figures,
            formats=[f for f in report.FORMATS if f in needed], language=args.lang,
            keep_in=store.folder(),
        )  # fmt: skip
    try:
        if "pdf" in asked:
            with _one_line("--format pdf", report.ReportError):
                written.append(report.compile_pdf(next(p for p in written if p.suffix == ".tex")))
    finally:
        _write("".join(f"{path}\n" for path in written))
    missing = "" if _only_files(args.patterns) else report.missing_to_draw(args.lang)
    if missing:
        print(f"derive: no pictures in the report without {missing}", file=sys.stderr)
    if runner.failed(results):
        print("derive: not every claim is as expected; the report says which", file=sys.stderr)
    return int(runner.failed(results))


def _count(args: argparse.Namespace) -> int:
    from derive import jsonout
    from derive.count import command

    if args.published and (args.settings or args.explain):
        raise InputError("--set and --explain belong to a configuration, not to --published")
    to_file = None if args.json in {None, "-"} else _File("--json", args.json)
    answer = command.published() if args.published else command.counted(args.config, args.settings)
    if args.json is not None:
        (_write if to_file is None else to_file.write)(
            jsonout.dumps(answer.as_object(explain=args.explain))
        )
    if args.json != "-":
        _write(answer.as_text(_style(), explain=args.explain))
    return 0


def _certify(args: argparse.Namespace) -> int:
    from derive import jsonout, runner, store
    from derive.certify import check, coverage, project, record

    out = Path(args.out)
    _refuse_no_folder(out)
    to_file = None if args.json in {None, "-"} else _File("--json", args.json)
    asked = "--recheck" if args.recheck else "--check" if args.check else ""
    if asked and not check.has_coq():
        raise InputError(f"{asked}: coqc or coqchk is missing; install {check.PACKAGES}")
    theirs = any(map(is_file, args.patterns))
    kept = store.Store(None, {}) if theirs else store.open_store()
    results = _settled(args.patterns, kept=kept, twins=False)
    logs = [(r, kept.entries[r.id]["logs"]) for r in results if r.replayed]
    made = project.build([(r.id, r.statement, map(json.loads, texts)) for r, texts in logs])
    with _one_line(f"--out {out}", check.CoqError):
        project.write(made, out)
    audited = None
    if asked:
        try:
            audited = check.check(made, out, again=args.recheck)
        except check.CoqError as error:
            print(f"derive: {error}", file=sys.stderr)
            return 1
    verdicts = [(r.id, r.verdict.value) for r, _ in logs]
    entries = coverage.coverage(made, verdicts, audited)
    if audited is not None:
        record.keep(results, {e.claim: (e.certificate, e.reason) for e in entries})
    if args.json is not None:
        found = jsonout.dumps(jsonout.certificates_object(entries))
        (_write if to_file is None else to_file.write)(found)
    if args.json != "-":
        _write(f"{out}\n" if audited is None else coverage.summary(entries, made, audited))
    if audited is None and not check.has_coq():
        print(f"derive: to check the sources, install {check.PACKAGES}", file=sys.stderr)
    return int(runner.failed(results))


def _fragments(args: argparse.Namespace, out: Path) -> int:
    from derive import report, runner

    if args.formats and {*args.formats} != {"tex"}:
        raise InputError("--fragment: fragments are LaTeX; --format goes with whole reports")
    results = _settled(args.patterns, seed=args.seed, mutations=True)
    with _one_line(f"--out {out}", report.ReportError):
        written = report.write_fragments(results, out, language=args.lang)
    _write("".join(f"{path}\n" for path in written))
    return int(runner.failed(results))


@contextlib.contextmanager
def _pictures(args: argparse.Namespace) -> Iterator[Callable[[], tuple[Figure, ...]]]:
    """The pictures of the report, which are drawn meanwhile; none for a user's own claims."""
    from derive import report, store

    if _only_files(args.patterns) or report.missing_to_draw(args.lang):
        yield tuple
        return
    with report.drawn(args.seed, store.folder(), args.lang) as pictures:
        yield pictures


@contextlib.contextmanager
def _one_line(option: str, kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{option}: {error.strerror or error}") from error
    except kind as error:
        raise InputError(f"{option}: {error}") from error


def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {"Python": ".".join(map(str, sys.version_info[:3]))}
    for shown, name in (
        ("derive", _DISTRIBUTION),
        ("SymPy", "sympy"),
        ("NumPy", "numpy"),
        ("latex2mathml", "latex2mathml"),
        ("matplotlib", "matplotlib"),
    ):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[shown] = metadata.version(name)
    return found


# ---------------------------------------------------------------------------- the shared parts


def _only_files(patterns: Sequence[str]) -> bool:
    """Whether only claims of the user's own files are meant."""
    return bool(patterns) and all(map(is_file, patterns))


def _chosen(patterns: Sequence[str], time_limit: float | None = None) -> tuple[Claim, ...]:
    """The claims that are meant; to load one of the user's files takes no longer than a claim may.

    There is some grace, and SymPy is there before: how long that takes is not the file's doing.
    """

    @contextlib.contextmanager
    def limited(path: str) -> Iterator[None]:
        from derive import runner, timing

        importlib.import_module("derive.claim")
        importlib.import_module("derive.language")
        limit = None if time_limit is None else time_limit + runner.GRACE_SECONDS
        try:
            with timing.limited(limit):
                yield
        except timing.TimeUp:
            raise InputError(
                f"{path}: loading it ran over the time limit of {time_limit:g} s"
            ) from None

    def chosen(known: Sequence[Claim]) -> tuple[Claim, ...]:
        return select(known, patterns, limited)

    try:
        claims = chosen(() if _only_files(patterns) else all_claims(patterns))
    except NoMatch:  # the message names the nearest of all claims
        claims = chosen(all_claims())
    if not claims:
        raise InputError("there are no claims")
    return claims


def _settled(
    patterns: Sequence[str], *, fresh: bool = False, kept: Store | None = None, **options: Any
) -> list[Result]:
    """The results for what was asked for; proofs of our own claims are kept for the next time.

    They are kept in `kept` if one is given, in which the logs of all results can be found then.
    """
    from derive import replay, store

    gc.set_threshold(200_000, 20, 20)  # terms are kept for good: looking for garbage finds none
    # twins multiply small matrices, for which the threads of a BLAS cost more than they save
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if any(map(is_file, patterns)):
        return _results(_chosen(patterns, options.get("time_limit")), store=kept, **options)
    if kept is None:
        kept = store.open_store(fresh=fresh)
    asked = [name for name in kept.entries if not patterns or matches(name, patterns)]
    jobs = options.setdefault("jobs", _processors())
    if not asked:
        return _results(_known(patterns, kept), store=kept, **options)
    with replay.Replay(replay.checkers_for(len(asked), jobs)) as checkers:
        checkers.send_kept(kept, asked)  # their work goes on while modules are loaded
        chosen = _kept_claims(kept, patterns, **options)
        mistaken = _kept_mutations(chosen, checkers, **options)
        if chosen is None or mistaken is None:
            return _results(_known(patterns, kept), store=kept, replay=checkers, **options)
        results = mistaken(_as_kept(kept, chosen, checkers, **options))
    if results is None:  # what is kept is damaged
        kept.entries = {}
        return _results(_known(patterns, kept), store=kept, **options)
    return results


def _known(patterns: Sequence[str], kept: Store) -> tuple[Claim, ...]:
    """The claims, and a note of where they are."""
    claims = _chosen(patterns)
    topics = {p.split("/")[0] for p in patterns}
    modules = [m for m in places_of_claims(patterns) if not patterns or m.topic in topics]
    kept.know(modules, complete=not patterns)
    return claims


def _kept_claims(
    kept: Store, patterns: Sequence[str], *, time_limit: float | None = None, **_: Any
) -> list[str] | None:
    """The claims that are meant, if nothing but what is kept under the seal is needed."""
    from derive import kept as recalled

    return None if time_limit is not None else recalled.names(kept, patterns)


Attach = Callable[["list[Result] | None"], "list[Result] | None"]


def _kept_mutations(
    chosen: Sequence[str] | None, checkers: Replay, *, mutations: bool = False, seed: int = 0,
    **_: Any,
) -> Attach | None:  # fmt: skip
    """What puts the kept mutations into the results, if they are asked for; None if some lack.

    Their logs are given to the checkers meanwhile.
    """
    from derive import kept_mutations

    if chosen is None or not mutations:
        return lambda results: results
    kept = kept_mutations.open_store(seed)
    places = kept_mutations.send(kept, chosen, checkers)
    if places is None:
        return None
    return lambda results: (
        results and kept_mutations.attached(results, kept, places, checkers.answers(None))
    )


def _as_kept(
    kept: Store, chosen: Sequence[str], checkers: Replay, *, seed: int = 0, jobs: int = 1,
    twins: bool = True, **_: Any,
) -> list[Result] | None:  # fmt: skip
    from derive import kept as recalled
    from derive.certify import record

    with _progress() as progress:
        results = recalled.results(
            kept, chosen, checkers, seed=seed, jobs=jobs, twins=twins, progress=progress
        )
    return None if results is None else record.attached(results)


def _results(
    claims: Sequence[Claim], *, mutations: bool = False, twins: bool = True, **options: Any
) -> list[Result]:
    from derive import kept_mutations, runner
    from derive.certify import record
    from derive.mutations import with_mutations

    jobs = options.setdefault("jobs", _processors())
    if not twins:
        claims = [replace(c, twin=None) for c in claims]
    with _progress() as progress:
        results = record.attached(runner.verify(claims, progress=progress, **options))
    if not mutations:
        return results
    seed = options.get("seed", 0)
    ours = options.get("store") is not None
    kept = kept_mutations.open_store(seed) if ours else None
    return with_mutations(results, claims, seed=seed, jobs=jobs, kept=kept)


@contextlib.contextmanager
def _progress() -> Iterator[Progress | None]:
    """One line on standard error that is written over and over, on a terminal only."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return

    def say(stage: str, done: int, total: int, last: str) -> None:
        sys.stderr.write(f"\r\x1b[K{stage} {done}/{total} {last}"[:78])
        sys.stderr.flush()

    try:
        yield say
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _style() -> Any:
    from derive.terminal import Style

    return Style() if sys.stdout is None else Style.of(sys.stdout)


def _write(text: str) -> None:
    """Write to standard output, all of it, now."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _silence_output()
        raise InputError(f"standard output: {error.strerror}") from error


class _File:
    """A file that will be written at the end, in one go; refused now if it cannot be."""

    def __init__(self, option: str, path: str) -> None:
        self._option = option
        self._shown = path
        self._path = Path(os.path.realpath(path))
        if not path or os.path.isdir(path):
            raise InputError(f"{option}: {path!r} is not the name of a file")
        self._beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with self._refusing():
            if self._path.exists():
                self._path.open("ab").close()
            if self._is_replaced():
                self._beside.open("xb").close()
                self._beside.unlink()

    def _is_replaced(self) -> bool:
        """Devices and pipes are written to; a file is replaced as a whole."""
        return self._path.is_file() or not self._path.exists()

    def write(self, text: str) -> None:
        with self._refusing():
            if not self._is_replaced():
                self._path.write_text(text, encoding="utf-8")
                return
            try:
                self._beside.write_text(text, encoding="utf-8")
                os.replace(self._beside, self._path)
            finally:
                self._beside.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"{self._option} {self._shown}: {error.strerror}") from error


def _refuse_no_folder(out: Path) -> None:
    """Refuse a folder that can neither be used nor made, before anything is computed."""
    try:
        there = next((p for p in (out, *out.absolute().parents) if p.exists()), Path("/"))
    except OSError as error:  # a name that is too long
        raise InputError(f"--out {out}: {error.strerror or error}") from error
    if not there.is_dir():
        raise InputError(f"--out {out}: {there} is not a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"--out {out}: {there} cannot be written to")
