"""The renderings: well-formed, escaped, offline, deterministic, and true to the summary."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from askew.report import (
    Candidate,
    FitSummary,
    HealthFinding,
    Move,
    NearestLabel,
    QueryCase,
    QueryGain,
    RankedDocument,
    render_html,
    render_markdown,
)

_VOID = {"meta", "br", "hr", "img", "input", "link"}
UNSHOWABLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
HOSTILE = (
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "]]><!--",
    "\" onmouseover='alert(1)' `x`",
    "a\x00b\x07c\x1bd\x7f\x85",
    "lone \ud800 and \udfff",
    "\u202eevil\u2066 שלום مرحبا",
    "👩‍👩‍👧 🎯 {{ 7*7 }} {% raw %}",
    "javascript:alert(1) | a | b |\n\n# x",
    "x" * 5_000,
    "",
)


class Page(HTMLParser):
    """A page's tags, checked to nest, its attributes and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def hostile(text: str, full: FitSummary) -> FitSummary:
    """A summary with one string in every place that takes one."""
    document = RankedDocument(doc_id=text, text=text, relevant=True, grade=1.0, score=0.5)
    move = Move(
        sentence=text,
        doc_id=text,
        before=3,
        after=1,
        depth=100,
        others=2,
        others_known=0,
        examples=(text,),
        nearest=NearestLabel(query_id=text, text=text, cosine=0.5, shares=False),
    )
    case = QueryCase(query_id=text, text=text, base=0.1, adapted=0.9, before=(document,), after=(document,), move=move)
    return dataclasses.replace(
        full,
        title=text,
        askew_version=text,
        dataset=text,
        query_encoder=text,
        document_encoder=text,
        similarity=text,
        measure=text,
        verdict=dataclasses.replace(full.verdict, sentence=text),
        chosen=dataclasses.replace(full.chosen, estimator=text),
        geometry=None if full.geometry is None else dataclasses.replace(full.geometry, sentence=text),
        reproduction=dataclasses.replace(full.reproduction, command=text, fingerprint=text),
        learning=None if full.learning is None else dataclasses.replace(full.learning, sentence=text),
        candidates=(Candidate(name=text, strength=0.1, mean=0.3, standard_error=0.1, chosen=True),),
        comparisons=(dataclasses.replace(full.comparisons[0], measure=text, subset=text),),
        elsewhere=(dataclasses.replace(full.comparisons[0], measure=text, subset=text),),
        per_query=(QueryGain(query_id=text, text=text, base=0.1, adapted=0.2),),
        helped=(case,),
        hurt=(case,),
        findings=(HealthFinding(level="note", message=text, remedy=text, examples=(text,)),),
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_are_shown_and_never_acted_on(full: FitSummary, text: str) -> None:
    html = render_html(hostile(text, full))
    html.encode("utf-8")
    page = Page(html)
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not re.search(UNSHOWABLE, html)
    if text == HOSTILE[0]:
        assert text in page.text
    for svg in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL):
        ET.fromstring(svg)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_keeps_hostile_strings_in_their_places(full: FitSummary, text: str) -> None:
    tame, wild = render_markdown(hostile("tame", full)), render_markdown(hostile(text, full))
    wild.encode("utf-8")
    assert not re.search(UNSHOWABLE, wild)
    prose = re.sub(r"(`{3,})\n.*?\n\1\n", "", wild, flags=re.DOTALL)
    assert not re.search(r"<[a-zA-Z/!]", prose)
    for kind in ("# ", "## ", "|", "- "):
        assert sum(line.startswith(kind) for line in prose.splitlines()) == sum(
            line.startswith(kind) for line in tame.splitlines()
        )
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in prose.splitlines() if line.startswith("|")]
    assert bars == [11] * 3 + [8] * 3 + [11] * 3 + [7] * 3 + [5] * 8


def test_the_fence_is_longer_than_any_in_the_command(full: FitSummary) -> None:
    again = dataclasses.replace(full.reproduction, command="echo ````\n```")
    text = render_markdown(dataclasses.replace(full, reproduction=again))
    assert "\n`````\necho ````\n```\n`````\n" in text


def test_the_page_is_well_formed_and_loads_nothing(full: FitSummary, untested: FitSummary) -> None:
    for summary in (full, untested):
        html = render_html(summary)
        page = Page(html)
        assert html.startswith("<!DOCTYPE html>")
        assert {"script", "link", "img", "iframe", "object", "embed", "base", "form"}.isdisjoint(page.tags)
        links = [(name, value) for name, value in page.attributes if re.search(r"https?:|//", value)]
        assert set(links) <= {("xmlns", "http://www.w3.org/2000/svg")}
        assert all(value.startswith("#") for name, value in page.attributes if name in {"href", "src"})
        assert "url(" not in html.partition("</style>")[0]
        ids = [value for name, value in page.attributes if name == "id"]
        assert len(ids) == len(set(ids))


def test_every_picture_is_xml_with_a_caption_and_a_table(full: FitSummary) -> None:
    html = render_html(full)
    svgs = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(svgs) == 7
    for svg in svgs:
        ET.fromstring(svg)
    parts = html.split("<figure>")[1:]
    assert all("<figcaption>" in part and '<details class="table"' in part for part in parts)


def test_equal_summaries_give_equal_pages(full: FitSummary) -> None:
    again = FitSummary.from_json(full.to_json())
    assert render_html(again) == render_html(full)
    assert render_markdown(again) == render_markdown(full)


def test_the_first_screen_tells_the_verdict_its_reason_and_its_numbers(full: FitSummary) -> None:
    text = Page(render_html(full)).text
    start = text[: text.index("Which queries gain")]
    assert full.verdict.sentence in start
    assert start.index("Adapt") < start.index(full.verdict.sentence) < start.index("0.3231")
    for number in (
        "+0.0212",
        "0.0046",
        "0.3231",
        "0.3442",
        "+0.0211",
        "p < 0.001",
        "+0.0143 to +0.0281",
        "0.6769",
    ):
        assert number in start


def test_the_page_and_the_text_hold_every_measured_number(full: FitSummary) -> None:
    page, text = Page(render_html(full)).text, render_markdown(full)
    for row in full.candidates:
        assert f"{row.mean:.4f}" in page
        assert f"{row.standard_error:.4f}" in page
    for name in {row.name for row in full.candidates}:  # the text has one of each: it has to be short
        best = max((row for row in full.candidates if row.name == name), key=lambda row: (row.chosen, row.mean))
        assert f"{best.mean:.4f} | {best.standard_error:.4f}" in text
    assert f"Of {len(full.candidates)} candidates, one of each kind" in text
    ordered = sorted(full.per_query, key=lambda query: (-query.gain, query.query_id))
    for query in ordered[:100] + ordered[-100:]:
        assert f"{query.query_id} " in page
    for case in full.helped + full.hurt:
        assert f"{case.adapted:.4f}" in page
    assert full.reproduction.command in page
    assert full.reproduction.command in text


def test_keep_is_told_as_an_answer(make_summary: Any, untested: FitSummary) -> None:
    kept = make_summary(40, verdict=untested.verdict)
    for summary in (kept, untested):
        text = Page(render_html(summary)).text
        assert "Keep your base" in text
        assert untested.verdict.sentence in text
        assert "the base alone" in text
        assert "error:" not in text.lower().replace("standard error:", "")
        assert render_markdown(summary).splitlines()[2].startswith("**Keep your base.** ")
    assert "nDCG@10, not written" in Page(render_html(kept)).text


def test_without_a_test_split_the_evidence_is_the_cross_fitted_one(untested: FitSummary) -> None:
    text = Page(render_html(untested)).text
    assert "No test queries were given" in text
    assert "Nested gain +0.0011" in text
    assert "Base 0.3230" in text
    for absent in ("Headroom", "Queries to look at", "Which queries gain", "None", "nan"):
        assert absent not in text
    assert "No test queries were given" in render_markdown(untested)


def test_a_small_subset_is_printed_and_not_judged(make_summary: Any) -> None:
    assert "under 50 queries: too few to judge" in Page(render_html(make_summary(49))).text
    assert "too few to judge" not in Page(render_html(make_summary(50))).text
    assert "under 50 queries" in render_markdown(make_summary(49))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_queries_read_well(make_summary: Any, n: int) -> None:
    text = Page(render_html(make_summary(n))).text
    assert "nan" not in text
    assert "None" not in text


def test_an_empty_summary_reads_well(make_summary: Any) -> None:
    bare = make_summary(
        0,
        candidates=(),
        comparisons=(),
        findings=(),
        operator=None,
        test_queries=None,
        verdict=dataclasses.replace(
            make_summary(0).verdict, decision="keep", gain=None, standard_error=None, threshold=None
        ),
    )
    text = Page(render_html(bare)).text
    assert "No findings were recorded." in text
    assert "the operator is the base" in text
    assert "None" not in text
    assert "None" not in render_markdown(bare)


def test_where_nothing_was_tried_only_the_base_is_told(make_summary: Any, untested: FitSummary) -> None:
    rows = tuple(
        dataclasses.replace(row, adapted=row.base, difference=0.0, low=0.0, high=0.0, p_value=1.0)
        for row in make_summary(300).comparisons
    )
    bare = make_summary(
        300,
        comparisons=rows,
        operator=None,
        candidates=(),
        geometry=None,
        learning=None,
        drift=None,
        per_query=(),
        helped=(),
        hurt=(),
        verdict=dataclasses.replace(untested.verdict, gain=None, standard_error=None, threshold=None),
    )
    assert not bare.tried
    page, text = Page(render_html(bare)).text, render_markdown(bare)
    assert "Base 0.3231 nDCG@10, 300 queries Headroom 0.6769" in page
    for told in (page, text):
        assert "No correction was tried, so there is nothing to compare with the base." in told
        for absent in ("0.0000", "Difference", "Seen in training", "p = 1.000"):
            assert absent not in told
    assert "| nDCG@10 | 300 | 0.3231 | 0.6769 |" in text


def test_unjudged_and_unscored_documents_are_told_apart(full: FitSummary) -> None:
    documents = (
        RankedDocument(doc_id="d1", text="", relevant=False),
        RankedDocument(doc_id="d2", text="two", relevant=False, grade=0.0, score=0.25),
        RankedDocument(doc_id="d3", text="three", relevant=True, grade=2.0, score=-0.5),
    )
    case = dataclasses.replace(full.helped[0], before=documents, after=())
    text = Page(render_html(dataclasses.replace(full, helped=(case,), hurt=()))).text
    assert "d1 not judged · d1" in text
    assert "two judged not relevant , grade 0 · score 0.2500" in text.replace("relevant,", "relevant ,")
    assert "three relevant , grade 2 · score −0.5000" in text
    assert "No document was retrieved." in text
    assert "Most hurt" not in text


def test_a_case_says_why_it_moved(full: FitSummary) -> None:
    page, text = Page(render_html(full)).text, render_markdown(full)
    for place in (0, 1, 3):
        assert f"The relevant document d{place} <&> rose from place beyond 100 to 2." in page
    assert page.count("Nearest training query: Parse <&> a time") == 6  # of two lists of ten
    assert r"The relevant document d1 &lt;&amp;&gt; rose from place beyond 100 to 2." in text
    assert "Nearest training query: Parse &lt;&amp;&gt; a time" in text


def test_cases_without_a_reason_get_no_words_about_one(full: FitSummary) -> None:
    bare = tuple(dataclasses.replace(case, move=None) for case in full.helped)
    page = Page(render_html(dataclasses.replace(full, helped=bare, hurt=()))).text
    assert "Queries to look at" in page
    assert "Each has a reason" not in page


def test_what_training_knew_is_one_picture_in_plain_words(full: FitSummary) -> None:
    page = Page(render_html(full)).text
    section = page[page.index("Seen in training, or new?") : page.index("How the strength was chosen")]
    for words in (
        "unseen: the same, with every document that was a right answer in training taken out",
        "negative only: the right answer took part in training, but only as a wrong answer",
        "No right answer to a test query was a right answer in training, so none of the gain here is memory.",
        "unseen +0.0150 +0.0040 to +0.0260 0.3100 0.3250 1,200",
        "negative only −0.0050 −0.0200 to +0.0100 0.3400 0.3350 1,200",
    ):
        assert words in section
    assert "never seen" not in section  # it was not measured
    assert "\n- negative only: the right answer took part in training, but only" in render_markdown(full)
    known = dataclasses.replace(full.comparisons[1], subset="positive in training")
    page = Page(render_html(dataclasses.replace(full, comparisons=(*full.comparisons, known)))).text
    assert "worth having where users come back to the same documents" in page
    assert "so none of the gain here is memory" not in page
    alone = Page(render_html(dataclasses.replace(full, comparisons=full.comparisons[:1]))).text
    assert "Seen in training" not in alone


def test_candidates_level_with_the_best_are_counted(full: FitSummary) -> None:
    best = max(full.candidates, key=lambda row: row.mean)
    level = best.mean - best.standard_error
    assert full.level == level
    above = sum(row.mean >= level for row in full.candidates)
    html = render_html(full)
    page = Page(html).text
    assert 1 < above < len(full.candidates)
    assert f"The dotted line, at {level:.4f}, is one standard error below the best mean" in page
    assert f"{above} of {len(full.candidates)} candidates lie on or above it" in page
    assert ", the base among them" not in page
    alone = dataclasses.replace(full, candidates=(full.candidates[0], dataclasses.replace(best, mean=0.9)))
    assert "below the best mean: the best alone lies above it." in Page(render_html(alone)).text
    told = f"{above} of {len(full.candidates)} lie within one standard error of the best mean: {level:.4f} or more."
    assert told in render_markdown(full)
    table = html[html.index("level with the best") : html.index("</table>", html.index("level with the best"))]
    assert table.count("<td>yes</td>") == above + 1  # and the chosen one
    prior = dataclasses.replace(full.candidates[0], mean=level)
    held = dataclasses.replace(full, candidates=(prior, *full.candidates[1:]))
    assert ", the base among them" in Page(render_html(held)).text


def test_every_link_leads_to_a_section_and_every_word_is_explained(full: FitSummary, untested: FitSummary) -> None:
    alone = dataclasses.replace(full, comparisons=full.comparisons[:1], drift=None, learning=None, operator=None)
    for summary in (full, untested, alone, dataclasses.replace(untested, candidates=(), operator=None)):
        html = render_html(summary)
        page = Page(html)
        links = [value.removeprefix("#") for name, value in page.attributes if name == "href" and value != "#"]
        heads = re.findall(r'<h2 id="([^"]+)"', html)
        assert [link for link in links if link in heads] == heads
        assert html.count("<h2") == len(heads)
        for word in ("nDCG@10:", "standard error:", "shared, dual:"):
            assert word in page.text
    assert "hold half of the change" in Page(render_html(full)).text


def test_ten_cases_a_side_are_shown(full: FitSummary) -> None:
    html = render_html(dataclasses.replace(full, helped=full.helped * 3))
    assert html.count('<details class="case"') == 20


def test_more_queries_than_a_table_takes_are_cut_in_the_middle_and_said(make_summary: Any) -> None:
    summary = make_summary(6_000)
    wide = [dataclasses.replace(query, text="日本語の長い検索文 " * 40) for query in summary.per_query]
    html = render_html(dataclasses.replace(summary, per_query=tuple(wide)))
    text = Page(html).text
    assert len(html.encode()) < 1_000_000
    assert "The 5,800 queries in the middle are left out here; a report that ends in .json has them all." in text
    assert '<td class="number">100</td>' in html
    assert '<td class="number">101</td>' not in html
    assert '<td class="number">6000</td>' in html


def test_queries_are_counted_by_what_the_base_made_of_them(full: FitSummary) -> None:
    values = [(0, 1), (0, 0.5), (0, 0), (0.5, 0.75), (0.5, 0.25), (0.5, 0.5), (1, 1), (1, 1), (1, 0)]
    queries = tuple(
        QueryGain(query_id=f"q{place}", text="", base=float(base), adapted=float(adapted))
        for place, (base, adapted) in enumerate(values)
    )
    summary = dataclasses.replace(full, per_query=queries)
    page, text = Page(render_html(summary)).text, render_markdown(summary)
    told = (
        "It rescues 2 queries that the base missed and breaks 1 that it had right. Of the unchanged, 1 stayed at 0, 2 "
        "stayed at 1, 1 stayed in between. Part of this any change would bring"
    )
    for words in (told, "read the whole, +0.0556, as the gain"):
        assert words in page
        assert words in text
    assert "0 3 2 1 0 +0.5000 +0.1667" in page
    assert "in between 3 1 1 1 0.0000 0.0000" in page
    assert "| 1 | 3 | 0 | 2 | 1 | −0.3333 | −0.1111 |" in text


def test_ties_with_the_last_case_are_counted(full: FitSummary) -> None:
    queries = tuple(QueryGain(query_id=f"q{place}", text="", base=0.0, adapted=1.0) for place in range(19))
    cases = tuple(
        QueryCase(query_id=query.query_id, text="", base=0.0, adapted=1.0, before=(), after=())
        for query in queries[:10]
    )
    tied = dataclasses.replace(full, per_query=queries, helped=cases, hurt=())
    assert "Most helped (10 of 19 that change by +1.0000)" in Page(render_html(tied)).text
    some = dataclasses.replace(tied, per_query=queries[:10])
    assert "that change by" not in Page(render_html(some)).text


def test_other_systems_are_named_in_the_tables(make_summary: Any) -> None:
    plain = make_summary().comparisons[0]
    other = dataclasses.replace(plain, system="nearest past query", reference="adapters/old")
    assert (plain.label, other.label) == ("all", "all: nearest past query against adapters/old")
    summary = make_summary(comparisons=(plain, other))
    assert "nDCG@10, all: nearest past query against adapters/old" in Page(render_html(summary)).text
    assert "| nDCG@10 | all: nearest past query against adapters/old |" in render_markdown(summary)
    assert FitSummary.from_json(summary.to_json()) == summary
