"""Findings as one page that can be sent to somebody, or as the answer to an upload.

It runs nothing and asks for nothing.
"""

from __future__ import annotations

from html import escape

from haulage.doctor.finding import Finding, Report
from haulage.doctor.text import TITLES
from haulage.words.printable import printable

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --muted: #556270; --grid: #dfe4e9; --paper: #fefefe;
  --ok: #0f6b4c; --note: #1f5f99; --warning: #7a5000; --fault: #a81c2b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --muted: #a3afbb; --grid: #2f3944; --paper: #171d24;
    --ok: #4cd3a5; --note: #7fbdf0; --warning: #f0c453; --fault: #ff8f97; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 20px; max-width: 900px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, "Liberation Sans", sans-serif; }
h1 { margin: 0; font-size: 24px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 28px 0 6px; font-size: 18px; }
p { margin: 4px 0; }
.about { color: var(--muted); overflow-wrap: anywhere; }
.verdict { margin: 14px 0; padding: 10px 14px; border-left: 5px solid currentColor; font-weight: 650; }
table { width: 100%; border-collapse: collapse; }
th { width: 6.5em; padding: 7px 12px 7px 0; text-align: left; vertical-align: top; font-weight: 650; }
td { padding: 7px 0; vertical-align: top; overflow-wrap: anywhere; }
tr { border-top: 1px solid var(--grid); }
.hint { color: var(--muted); }
pre { margin: 0; padding: 12px; border: 1px solid var(--grid); overflow-x: auto; font-size: 14px; }
form { margin: 18px 0; } label { font-weight: 650; }
input, button { font: inherit; color: inherit; max-width: 100%; }
button { margin: 6px 0; padding: 6px 16px; border: 1px solid var(--muted); border-radius: 4px;
  background: var(--grid); cursor: pointer; }
a { color: var(--note); }

.ok { color: var(--ok); } .note { color: var(--note); } .warning { color: var(--warning); }
.fault { color: var(--fault); }
@media (max-width: 520px) { body { padding: 12px; } tr, th, td { display: block; width: auto; }
  th { padding: 8px 0 0; } td { padding: 0 0 8px; } }
@media print { body { max-width: none; padding: 0; } }
"""


def as_page(report: Report) -> str:
    """Return the page."""
    target = report.target or "this machine"
    body = f"""<header>
<p class="about">haul doctor</p>
<h1>{escape(printable(target))}</h1>
{_about(report)}
</header>
<main>
{_findings(report)}
</main>"""
    return _page(target, body)


def as_upload_page(
    report: Report | None, *, saved: str | None = None, refused: tuple[str, str | None] | None = None
) -> str:
    """Return the page on which a project's file is uploaded, with what came of the last one.

    Args:
        report: What came of it; ``None`` where nothing was uploaded.
        saved: Where the corrected file can be saved from.
        refused: Why it was not compared, and what to do about that.
    """
    title = "Does this machine have what your project needs?"
    told = ""
    if refused is not None:
        advice = "" if refused[1] is None else f'<p class="hint">Hint: {escape(printable(refused[1]))}</p>'
        told = f'<p class="verdict fault">{escape(printable(refused[0]))}</p>{advice}'
    elif report is not None:
        save = "" if saved is None else f'<p><a href="{escape(saved)}">Save the corrected file</a></p>'
        name = escape(printable(report.target or ""))
        told = f"<h2>{name}</h2>\n{_about(report)}\n{save}\n{_findings(report)}"
    body = f"""<header>
<p class="about">haul doctor</p>
<h1>{title}</h1>
</header>
<main>
<form method="post" enctype="multipart/form-data">
<p><label for="file">The project's requirements.txt, pyproject.toml or environment.yml (1 MiB at most):
</label></p>
<p><input type="file" id="file" name="file" accept=".txt,.in,.toml,.yml,.yaml" required>
<button type="submit">Compare</button></p>
<p class="about">The file is compared with what is installed on this machine, and is not stored.</p>
</form>
{told}
</main>"""
    return _page(title, body)


def _about(report: Report) -> str:
    level = "fault" if report.faults else "warning" if report.of("warning") else "ok"
    about = f"made on {report.made} in {report.seconds:.1f} s; no keys, tokens or signatures are in it"
    return f"""<p class="about">{escape(about)}</p>
<p class="verdict {level}">{escape(report.verdict())}</p>"""


def _findings(report: Report) -> str:
    body = "\n".join(_section(name, findings) for name, findings in report.sections())
    first = _section("Fix these first", list(report.faults)) if report.faults else ""
    return f"{first}\n{body}\n{_corrected(report)}"


def _page(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>haul doctor: {escape(printable(title))}</title>
<style>{_STYLE}</style>
</head>
<body>
{body}
</body>
</html>
"""


def _corrected(report: Report) -> str:
    """Return the project's file as it would have to be, to copy from."""
    if report.corrected is None:
        return ""
    lines = "\n".join(printable(line) for line in report.corrected.splitlines())
    return f"<section>\n<h2>Corrected file</h2>\n<pre>{escape(lines)}</pre>\n</section>"


def as_table(report: Report) -> str:
    """Return the findings that are not well as a table, for a notebook."""
    shown = [finding for finding in report.findings if finding.level in ("warning", "fault")]
    rows = "\n".join(_row(finding) for finding in shown)
    return f"<p><b>{escape(report.verdict())}</b></p>\n<table><tbody>{rows}</tbody></table>"


def _section(name: str, findings: list[Finding]) -> str:
    rows = "\n".join(_row(finding) for finding in findings)
    title = escape(TITLES.get(name, name))
    return f"<section>\n<h2>{title}</h2>\n<table><tbody>\n{rows}\n</tbody></table>\n</section>"


def _row(finding: Finding) -> str:
    advice = (
        f'<p class="hint">Hint: {escape(printable(finding.hint))}</p>' if finding.hint is not None else ""
    )
    text = f"<p>{escape(printable(finding.text))}</p>{advice}"
    return f'<tr><th scope="row" class="{finding.level}">{finding.level}</th><td>{text}</td></tr>'
