"""Mistakes in ``conf.py`` and in data files get one clear sentence."""

from __future__ import annotations

import pytest
from executable_claims.discuss import Threads
from executable_claims.errors import ConfigurationError, UnreadableFileError
from executable_claims.matrix import Matrix
from executable_claims.mutants import load_mutants
from executable_claims.settings import Settings
from sphinx.errors import ConfigError, SphinxError


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("depends", "src", "claims_depends must be a list of strings, but got 'src'"),
        (
            "depends",
            ["no"],
            "claims_depends must name existing files and folders, but got 'no'",
        ),
        (
            "distributions",
            ["no"],
            "claims_distributions must name installed packages, but got 'no'",
        ),
        ("preload", [1], "claims_preload must be a list of strings, but got [1]"),
        ("timeout", 0, "claims_timeout must be a positive number, but got 0"),
        ("timeout", "long", "claims_timeout must be a positive number, but got 'long'"),
        ("store", 1, "claims_store must be a string, but got 1"),
        ("threads", "no.yml", "claims_threads must name an existing file, but got 'no.yml'"),
        ("cases", "no", "claims_cases must name an existing folder, but got 'no'"),
        ("command", "make", "claims_command must contain {slug}, but got 'make'"),
        ("repository", "here", "claims_repository must be owner/name, but got 'here'"),
        ("mutants", "a.b", "claims_mutants must be module:attribute, but got 'a.b'"),
        ("rules", "a:b:c", "claims_rules must be module:attribute, but got 'a:b:c'"),
    ],
)
def test_a_wrong_setting_says_what_it_must_be(tmp_path, name, value, message):
    """Each setting is checked, and the error names it, what it must be and what it is."""
    with pytest.raises(ConfigurationError) as raised:
        Settings.from_values({f"claims_{name}": value}, tmp_path)
    assert f"{message}; correct it in conf.py" == str(raised.value)


def test_a_wrong_setting_ends_the_build(project):
    """The build stops before it runs a cell."""
    with pytest.raises(ConfigError, match="claims_timeout must be a positive number, but got -1"):
        project.build(claims_timeout=-1)
    assert not (project.root / "_build/executed").exists()


def test_myst_nb_must_not_run_cells(project):
    """Cells are run once, by this extension."""
    with pytest.raises(ConfigError, match="nb_execution_mode must be 'off', since"):
        project.build(nb_execution_mode="force")


def test_evidence_must_not_be_hidden(project):
    """Code and outputs are evidence, and are shown."""
    with pytest.raises(ConfigError, match="nb_remove_code_source must be False, since"):
        project.build(nb_remove_code_source=True)


def test_a_page_that_is_no_notebook_ends_the_build(project):
    """A cell whose options can't be read is reported with its page and line."""
    project.edit("rectangle.md", "```{code-cell} python\nwith", "```{code-cell}\n---\n{\n---\nwith")
    with pytest.raises(SphinxError, match=r"rectangle.md: the page must be a MyST Markdown noteb"):
        project.build()


def test_a_module_that_can_not_be_preloaded_ends_the_build(project):
    """A mistake in claims_preload is the author's, and shown with its traceback."""
    with pytest.raises(SphinxError, match="claims_preload must be importable, but got"):
        project.build(claims_preload=["no_such_module"])


@pytest.mark.parametrize(
    "text",
    ["- a list", "threads: {}", "{", "repositories: {}\nthreads: {}\nquestions: [{txt: a}]"],
)
def test_a_wrong_data_file_says_so(tmp_path, text):
    """A file of threads that has another form is refused with its name."""
    path = tmp_path / "threads.yml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"^threads.yml must map `repositories`,"):
        Threads.load(path)


@pytest.mark.parametrize("text", ["", "[]", '{"effects": {"a": {"b": "wounded"}}}'])
def test_a_wrong_record_says_so(tmp_path, text):
    """A record of mutants that has another form is refused with its name."""
    path = tmp_path / "matrix.json"
    path.write_text(text)
    with pytest.raises(UnreadableFileError, match="must be a record that the command falsify"):
        Matrix.read(path)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "claims_mutants must name the mutants of the project, but it is not set"),
        ("no_such_module:A", "claims_mutants must name a mapping as module:attribute, but got"),
        ("json:loads", "claims_mutants must name a mapping as module:attribute, but got"),
    ],
)
def test_mutants_that_are_not_there(location, message):
    """A place without mutants is a mistake in the settings."""
    with pytest.raises(ConfigurationError, match=message):
        load_mutants(location)


@pytest.mark.parametrize("project", ["rich"], indirect=True)
def test_a_wrong_answer_to_a_question_is_a_message(project):
    """Questions are checked like claims: thread, claim and page must exist."""
    project.edit("threads.yml", "claim: sum-of-two", "claim: sum-of-too")
    project.edit("threads.yml", "page: sums", "page: summs")
    project.edit("threads.yml", "thread: example#2", "thread: elsewhere#2")
    build = project.build()
    assert 1 == build.code
    assert [
        "threads.yml:5: the answer to a question must be a claim, but got 'sum-of-too'; did you "
        "mean 'sum-of-two'? correct the name, or leave the question open [claims.unknown]",
        "threads.yml:8: the answer to a question must be a page, but got 'summs'; did you mean "
        "'sums'? correct the name, or leave the question open [claims.unknown]",
        "threads.yml:11: the thread of a question must be repository#number, with a repository of "
        "claims_threads (example), but got 'elsewhere#2'; correct it [claims.malformed]",
    ] == [warning for warning in build.warnings if warning.startswith("threads")]
