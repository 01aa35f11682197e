"""How the command line shows what each stage ended with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from provegym.terminal import line, note, table

if TYPE_CHECKING:
    from provegym.ablation.run import Summary as Ablations
    from provegym.evals.comparison import Comparison
    from provegym.evals.heldout import Report as HeldOut
    from provegym.evals.stats import Estimate
    from provegym.graph.edges import Edge
    from provegym.graph.said import Agreement
    from provegym.rollout.summary import TraceSummary
    from provegym.runs import RunSummary
    from provegym.scoring import ScoreSummary
    from provegym.showing import Example, Shown
    from provegym.synth.pipeline import Summary as SynthSummary
    from provegym.world.contract import Report
    from provegym.world.server import Server
    from provegym.world.world import World

DISAGREEMENTS = 10
"""Disagreements on a graph that are shown; its file has all."""
RESULT = 600
"""Characters of a call's result that are shown; the mark says how many are not."""


def show_server(server: Server, world: World) -> None:
    """A server's tools and the sizes of its tables."""
    tools = [
        (tool.name, tool.effect, tool.usage, tool.description) for tool in server.tools.values()
    ]
    table(("tool", "effect", "parameters", "description"), tools, server.title)
    sizes = [(template.name, len(template.rows)) for template in world.templates.values()]
    table(("table", "rows"), sizes)


def show_tool(shown: Shown) -> None:
    """A tool's schema, phrases, an accepted and a refused call, and its edges."""
    line(f"{shown.name} ({shown.effect}, {shown.server})")
    line(shown.description)
    line(f"parameters: {shown.parameters or 'none'}")
    line(f"refusals: {', '.join(shown.refuses) or 'none'}")
    line("\nschema")
    line(msgspec.json.format(msgspec.json.encode(shown.schema)).decode())
    line("\nasked for as")
    for phrase in shown.phrases:
        line(f"  {phrase}")
    _show_call("accepted", shown.name, shown.accepted)
    if shown.refuses:
        _show_call(_refusal(shown.refused), shown.name, shown.refused)
    line("")
    table(("before it", "kind", "why"), [(e.source, e.kind, _why(e)) for e in shown.before])
    table(("after it", "kind", "why"), [(e.target, e.kind, _why(e)) for e in shown.after])


def _refusal(made: Example | None) -> str:
    if made is None:
        return "refused"
    return f"refused with {made.code}{' after the accepted call' if made.again else ''}"


def _show_call(title: str, name: str, made: Example | None) -> None:
    if made is None:
        line(f"\n{title}: no call that was tried on the world of seed 0")
        return
    line(f"\n{title}: {name}({msgspec.json.encode(made.arguments).decode()})")
    line(f"  {cut(msgspec.json.encode(made.result).decode())}")


def cut(text: str) -> str:
    """At most `RESULT` characters of a text, with a mark that says how many are left out."""
    return text if len(text) <= RESULT else f"{text[:RESULT]} [... {len(text) - RESULT:,} more]"


def _why(edge: Edge) -> str:
    """What an edge carries, or how it was proved."""
    return _shown(edge.kind, edge.target, edge.evidence)


def _shown(kind: str, target: str, evidence: Mapping[str, Any]) -> str:
    """What types or execution show for a pair."""
    if kind == "explicit":
        return "{parameter} takes an id of {entity} from {path}".format_map(evidence)
    if kind == "implicit":
        return f"proved by running: {target} is {evidence['refused_before']} before it"
    return "nothing found"


def show_agreement(found: Agreement, path: Path) -> None:
    """What a language model said of the pairs beside what types and execution show."""
    rows = [(name, *counts.values()) for name, counts in found.total.counts.items()]
    heads = next(iter(found.total.counts.values()))
    title = f"Shown by types and execution (rows), named by {found.model} (columns)"
    table(("", *heads), rows, title)
    by_server = {**found.servers, "all": found.total}
    measures = [
        (name, m.pairs, *("-" if x is None else x for x in (m.agreement, m.kappa)))
        for name, m in by_server.items()
    ]
    table(("server", "pairs", "agreement", "kappa"), measures)
    proved_first = sorted(found.disagreements, key=lambda d: d.shown == "none")
    first = [
        (d.source, d.target, d.shown, d.named, d.why, _shown(d.shown, d.target, d.evidence))
        for d in proved_first[:DISAGREEMENTS]
    ]
    table(("before", "after", "shown", "named", "the model's reason", "what is shown"), first)
    line(f"{len(found.disagreements)} disagreements, with what speaks for either: {path}")


def show_contract(reports: Sequence[Report]) -> None:
    """The checks that each server passes, and the evidence against it for those it does not."""
    rows = [
        (report.server, report.tools, sum(c.passed for c in report.checks), len(report.checks))
        for report in reports
    ]
    table(("server", "tools", "passed", "checks"), rows)
    failed = [(r.server, c.name, c.detail) for r in reports for c in r.checks if not c.passed]
    table(("server", "failed check", "why"), failed)


def show_tasks(summary: SynthSummary, title: str) -> None:
    """What became of the candidates."""
    table(("kind", "tasks"), _most_first(summary.kinds), title)
    table(("rejected for", "candidates"), _most_first(summary.rejected))
    line(f"{summary.tasks} certified tasks of {summary.candidates} candidates")


def show_cost(tasks: Path) -> None:
    """What a file of tasks took, as its manifest has it."""
    from provegym.records import read_manifest

    manifest = read_manifest(tasks)
    cost = manifest.cost if manifest else {}
    table(
        ("cost", "in all"),
        [(n, f"{v:,.2f}" if n == "usd" else f"{v:,.0f}") for n, v in cost.items()],
    )


def show_traces(summary: TraceSummary, title: str) -> None:
    """What the calls of a rollout came to."""
    table(("outcome", "calls"), _most_first(summary.outcomes), title)
    late = "" if summary.outcomes else title
    table(("stop reason", "episodes"), _most_first(summary.stop_reasons), late)
    table(("fault of ours", "episodes"), _most_first(summary.faults))
    line(f"{summary.traces} traces, {summary.masked} masked, {summary.calls} calls")


def note_unfinished(*files: Path) -> None:
    """Say of each file that is made to be longer that it is taken as it is."""
    from provegym.records import read_manifest

    for file in files:
        manifest = read_manifest(file)
        if manifest and not manifest.complete:
            note(f"{file} is unfinished; what there is of it is taken")


def show_scores(summary: ScoreSummary, out: Path) -> None:
    """Means of each component."""
    rows = [(name, "-" if mean is None else mean) for name, mean in summary.means.items()]
    table(("component", "mean"), rows, f"{summary.preset}: {out}")
    line(f"{summary.count} traces, {summary.masked} masked")
    if summary.explained:
        line(f"reasons: {summary.explained}")


def show_measures(
    found: Sequence[HeldOut],
    gain: Mapping[str, Estimate],
    columns: Sequence[str],
    tested: Mapping[str, Comparison] = {},
) -> None:
    """Held-out measures of one or two policies, the paired difference and how sure that is."""
    metrics = dict.fromkeys(name for report in found for name in report.overall)
    rows = [
        (
            *(name, *(report.overall.get(name, "-") for report in found), gain.get(name, "-")),
            f"{tested[name].holm:.3g}" if name in tested else "-",
        )
        for name in metrics
    ]
    heads = ("measure", *columns, "difference", "p (Holm)")
    kept = len(heads) - (not tested) - (not gain)
    table(heads[:kept], [row[:kept] for row in rows], "Means with 95 % intervals over tasks")
    line(f"masked episodes: {', '.join(str(report.masked) for report in found)}")


def show_parts(found: Sequence[HeldOut], columns: Sequence[str]) -> None:
    """Success of one or two policies by server, kind and length, and in several trials."""
    groups = dict.fromkeys(name for report in found for name in report.groups)
    rows = [(group, *(_success(report, group) for report in found)) for group in groups]
    table(("success by", *columns), rows)
    trials = dict.fromkeys(k for report in found for k in report.pass_hat)
    hats = [(f"pass^{k}", *(report.pass_hat.get(k, "-") for report in found)) for k in trials]
    table(("all of k trials", *columns), hats)


def _success(report: HeldOut, group: str) -> str:
    estimate = report.groups.get(group, {}).get("success")
    return f"{estimate} of {estimate.n}" if estimate else "-"


def show_ablations(summary: Ablations) -> None:
    """Which cells are done, and where the table is."""
    if summary.missing:
        line(f"not done yet: {', '.join(summary.missing)}; the same command goes on")
    line(f"{len(summary.done)} of {len(summary.done) + len(summary.missing)} trainings done")
    line(f"files: {summary.folder}")
    line(f"report: {summary.report}")


def show_run(summary: RunSummary) -> None:
    """Yield of synthesis, held-out measures before and after, training reward, memory."""
    show_tasks(summary.train, "Training tasks")
    show_tasks(summary.heldout, "Held-out tasks")
    both = (summary.before.report, summary.after.report)
    show_measures(both, summary.gain, ("before", "after"))
    first, last = ("-" if end is None else f"{end:z.3f}" for end in summary.reward)
    line(
        f"training reward: {first} in the first fifth of {summary.steps} steps, {last} in the last"
    )
    line(f"peak memory: {summary.peak_memory / 2**30:.2f} GiB")
    line(f"files: {summary.folder}")
    line(f"report: {summary.report}")


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
