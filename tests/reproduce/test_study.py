from __future__ import annotations

import json
from pathlib import Path

from askew.reproduce import Study, Table


def study() -> Study:
    table = Table(title="Risk", head=("n", "ours", "paper", "same"), rows=[(64, 0.123456, None, True)], note="Read it.")
    pictures = {"Risk, by n": "<svg/>"}
    return Study(
        name="risk",
        title="Risk (Table 2)",
        settings={"seed": 0},
        findings=["It falls."],
        tables=[table],
        pictures=pictures,
    )


def test_markdown_has_findings_tables_and_settings() -> None:
    text = study().to_markdown()
    assert text.startswith("# Risk (Table 2)\n\n- It falls.\n\n## Risk\n\nRead it.\n\n| n | ours | paper | same |\n")
    assert "| 64 | 0.1235 |  | yes |" in text
    assert text.endswith("Run with seed 0.\n")


def test_files_are_the_renderings(tmp_path: Path) -> None:
    written = study().write(tmp_path / "out")
    assert [path.name for path in written] == ["risk.md", "risk.json", "risk-risk-by-n.svg"]
    assert json.loads(written[1].read_text()) == json.loads(json.dumps(study().to_json()))
    assert written[0].read_text() == study().to_markdown()
    assert written[2].read_text() == "<svg/>"
