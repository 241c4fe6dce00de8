"""Holds a WITH clause against what its connector, its format and all objects of its kind declare.

An option that nobody declared is an error with a suggestion, never silently ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from narrows.catalog.options import CONNECTOR, FORMAT, LATENCY, LOW, PIPELINE_OPTIONS, TASKS
from narrows.errors import Code, NarrowsError, Problem, did_you_mean, fail, nearest
from narrows.plugins.declared import NO_FORMAT, ConnectorSpec, FormatSpec
from narrows.plugins.options import DEFAULT_FORMAT, Option, Options, OptionSpec, OptionValue
from narrows.plugins.registry import CONNECTORS, FORMATS, PluginRegistry, T
from narrows.sql.scope import Name


@dataclass(frozen=True)
class Checked:
    """The options of an object, complete and of the right types."""

    connector: ConnectorSpec
    format: FormatSpec | None
    """None for a sink that takes rows."""
    values: Mapping[str, OptionValue]

    @property
    def format_name(self) -> str:
        return NO_FORMAT if self.format is None else self.format.name


def check_options(
    options: Options,
    common: tuple[OptionSpec, ...],
    *,
    sink: bool,
    owner: Name,
    connector: ConnectorSpec | None = None,
) -> Checked:
    """Checks what the user gave against what is declared; reports all problems together.

    `owner` is whose options they are, for complaints about those that are missing. The connector
    is the one that they name, unless it is given.
    """
    connector = connector or _connector(options, sink, owner)
    form = _format(options, connector, sink)
    declared = [*common, *(connector.options(sink=sink) or ())]
    chosen = form is not None and (sink or connector.source_format is None)
    if not chosen:
        declared.remove(next(spec for spec in declared if spec.name == FORMAT.name))
    if form is not None:
        brings_files = connector.delivers == "files"
        own = form.options(sink=sink) or ()
        declared += [spec for spec in own if brings_files or not spec.of_files]
    specs = {spec.name: spec for spec in declared}
    problems: list[Problem] = []
    values: dict[str, OptionValue] = {
        spec.name: spec.default for spec in specs.values() if spec.default is not None
    }
    for name, option in options.items():
        try:
            spec = _declaration(name, specs.values())
            if spec is None:
                raise _unknown(name, option, specs, connector, form if chosen else None)
            values[name] = spec.check(option)
        except NarrowsError as error:
            problems.extend(error.problems)
    for spec in specs.values():
        if spec.required and spec.name not in options and spec is not CONNECTOR:
            message = f"`{owner.text}` lacks the option `{spec.name}`: {spec.doc}"
            needs = f"connector `{connector.name}`"
            if form is not None and spec in (form.options(sink=sink) or ()):
                needs = f"format `{form.name}`"
            hint = spec.hint or f"{needs} needs it"
            problems.append(Problem(Code.INVALID_OPTION, message, owner.span, hint))
    if problems:
        given = [(o.value_span, _declaration(n, specs.values())) for n, o in options.items()]
        hidden = [span for span, spec in given if spec is not None and spec.is_secret]
        raise NarrowsError(*problems, secrets=[span for span in hidden if span is not None])
    if form is not None:
        values[FORMAT.name] = form.name
    return Checked(connector, form, values)


def check_pipeline_options(options: Options) -> Options:
    """The options of a pipeline, which depend on no connector and no format."""
    specs = {spec.name: spec for spec in PIPELINE_OPTIONS}
    for name, option in options.items():
        if name not in specs:
            hint = did_you_mean(name, specs) or f"options are {', '.join(specs)}"
            message = f"a pipeline has no option `{name}`"
            raise fail(Code.UNKNOWN_OPTION, message, option.key_span, hint)
        specs[name].check(option)
    if TASKS in options and (LATENCY not in options or options[LATENCY].value != LOW):
        raise fail(
            Code.INVALID_OPTION,
            f"option `{TASKS}` is about pipelines of low latency",
            options[TASKS].key_span,
            f"add `{LATENCY} = '{LOW}'`; how many tasks others have is Spark's to say",
        )
    return options


def _declaration(name: str, declared: Iterable[OptionSpec]) -> OptionSpec | None:
    """What is declared of an option, by itself or as one of many that begin alike."""
    found = next((spec for spec in declared if spec.covers(name)), None)
    return found if found is None or found.name == name else replace(found, name=name)


def _unknown(
    name: str,
    option: Option,
    specs: Iterable[str],
    connector: ConnectorSpec,
    form: FormatSpec | None,
) -> NarrowsError:
    known = sorted(specs)
    owner = f"connector `{connector.name}`" + (f" with format `{form.name}`" if form else "")
    return fail(
        Code.UNKNOWN_OPTION,
        f"{owner} has no option `{name}`",
        option.key_span,
        did_you_mean(name, known) or f"options are {', '.join(known)}",
    )


def _connector(options: Options, sink: bool, owner: Name) -> ConnectorSpec:
    option = options.get(CONNECTOR.name)
    if option is not None:
        return _named(CONNECTORS, CONNECTOR, option, sink)
    misspelt = nearest(CONNECTOR.name, options)
    if misspelt is not None:
        message, hint = f"there is no option `{misspelt}`", f"did you mean `{CONNECTOR.name}`?"
        raise fail(Code.UNKNOWN_OPTION, message, options[misspelt].key_span, hint)
    usable = ", ".join(connector.name for connector in CONNECTORS.usable(sink=sink))
    message = f"`{owner.text}` lacks the option `connector`"
    hint = f"add `connector = '...'`, one of {usable}"
    raise fail(Code.UNKNOWN_CONNECTOR, message, owner.span, hint)


def _format(options: Options, connector: ConnectorSpec, sink: bool) -> FormatSpec | None:
    """The format of a sink or source; None where rows are taken as they are."""
    if sink and connector.takes_rows:
        return None
    if not sink and connector.source_format is not None:
        return FORMATS.find(connector.source_format)
    option = options.get(FORMAT.name)
    if option is None:
        return FORMATS.find(connector.default_sink_format if sink else DEFAULT_FORMAT)
    form = _named(FORMATS, FORMAT, option, sink)
    reason = _cannot_write(connector, form) if sink else _mismatch(connector, form)
    if reason is not None:
        raise fail(Code.INVALID_OPTION, reason, option.value_span)
    return form


def _mismatch(connector: ConnectorSpec, form: FormatSpec) -> str | None:
    """Why a connector cannot bring payloads of a format; None if it can."""
    what = f"connector `{connector.name}` delivers {connector.delivers}"
    if connector.delivers == "files" and form.framing is None:
        return f"{what}, and payloads of format `{form.name}` do not stand in files"
    if connector.delivers == "messages" and not form.takes_messages:
        return f"{what}, and format `{form.name}` is read from files only"
    return None


def _cannot_write(connector: ConnectorSpec, form: FormatSpec) -> str | None:
    """Why a connector cannot take payloads of a format; None if it can."""
    if connector.delivers == "messages" and not form.writes_messages:
        return (
            f"connector `{connector.name}` takes a payload a row,"
            f" and format `{form.name}` is written to files only"
        )
    return None


def _named(registry: PluginRegistry[T], spec: OptionSpec, option: Option, sink: bool) -> T:
    name = str(spec.check(option))
    found = registry.get(name, option.value_span)
    if found is not None and found.by_statement and found.options(sink=sink) is not None:
        return found
    role = f"{'sink' if sink else 'source'} {registry.what}"
    usable = [known.name for known in registry.usable(sink=sink)]
    hint = did_you_mean(name, usable) or f"{role}s are {', '.join(usable)}"
    raise fail(registry.unknown, f"no {role} is called `{name}`", option.value_span, hint)
