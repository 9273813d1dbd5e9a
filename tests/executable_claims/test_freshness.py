"""A result is kept while nothing changed that could alter it, and not a moment longer."""

from __future__ import annotations

import os
import shutil

import pytest
from executable_claims import digest

ALL = ["area", "colour", "plain", "sub/beside"]
SHAPES = ["area", "sub/beside"]


def append(name):
    """Return a change that adds a comment to a file."""

    def change(project):
        with (project.root / name).open("a", encoding="utf-8") as file:
            file.write("# changed\n")

    change.__name__ = f"append to {name}"
    return change


def create(name, text=""):
    """Return a change that makes a new file."""

    def change(project):
        (project.root / name).parent.mkdir(exist_ok=True)
        (project.root / name).write_text(text, encoding="utf-8")

    change.__name__ = f"create {name}"
    return change


def edit(name, old, new):
    """Return a change that replaces text in a file."""

    def change(project):
        project.edit(name, old, new)

    change.__name__ = f"edit {old!r} in {name}"
    return change


def edit_unseen(project):
    """Change a module so that neither its size nor its time of modification tells."""
    path = project.root / "shapes/plane.py"
    status = path.stat()
    project.edit("shapes/plane.py", "width * height", "width + height")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def remove_results(project):
    """Throw the kept results away."""
    shutil.rmtree(project.root / "_build/executed")


def spoil_result(project):
    """Cut a kept result in half, as a full disk would."""
    path = project.root / "_build/executed/area.json"
    path.write_text(path.read_text(encoding="utf-8")[:100], encoding="utf-8")


def remove_page(project):
    """Throw a written page away."""
    (project.root / "_build/html/area.html").unlink()


def nothing(project):
    """Change nothing."""


def set_variable(name):
    """Return a change that sets an environment variable."""

    def change(project):
        os.environ[name] = "1"

    change.__name__ = f"set {name}"
    return change


@pytest.fixture(scope="module")
def built(tmp_path_factory, copy_project):
    """Return a project of which all chapters have run."""
    project = copy_project("fresh", tmp_path_factory.mktemp("built"))
    build = project.build()
    assert (ALL, 0) == (build.ran, build.code)
    return project


@pytest.fixture
def project(built, tmp_path):
    """Return a copy of the project with its results."""
    return built.copy(tmp_path / "copy")


@pytest.mark.parametrize(
    ("change", "ran"),
    [
        (nothing, []),
        (edit("plain.md", "One is one.", "One is always one."), []),
        (edit("area.md", "# Area", "# The area\n\nMore prose.\n"), []),
        (append("index.md"), []),
        (remove_page, []),
        (edit("plain.md", "check.equal(1, 1)", "check.equal(2, 2)"), ["plain"]),
        (
            edit("plain.md", "```{code-cell} python\n", "```{code-cell} python\n:tags: [a]\n"),
            ["plain"],
        ),
        (append("shapes/plane.py"), SHAPES),
        (create("shapes/solid.py"), SHAPES),
        (edit_unseen, SHAPES),
        (append("colours/__init__.py"), ["colour"]),
        (append("requirements.lock"), ALL),
        (append("sub/helper.py"), ["sub/beside"]),
        (create("sub/executable_claims.py", "raise ImportError"), ["sub/beside"]),
        (create("sub/shapes/__init__.py", "raise ImportError"), ["sub/beside"]),
        (edit("data/sides.txt", "2 3", "3 2"), ["area"]),
        (create("data/shades.txt"), ["colour"]),
        (remove_results, ALL),
        (spoil_result, ["area"]),
        (set_variable("SHAPE_FACTOR"), ALL),
        (set_variable("PYTHONOPTIMIZE"), ALL),
        (set_variable("UNRELATED"), []),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_a_change_runs_again(project, change, ran, monkeypatch):
    """Each kind of change runs the chapters that it can alter, and no other."""
    for name in ("SHAPE_FACTOR", "PYTHONOPTIMIZE", "UNRELATED"):
        monkeypatch.setenv(name, "")  # so that it is put back when the test ends
        monkeypatch.delenv(name)
    change(project)
    assert ran == project.build().ran


def swap_chapters(project):
    """Let two chapters change their names."""
    one, other = project.root / "area.md", project.root / "colour.md"
    one_text, other_text = one.read_text(), other.read_text()
    one.write_text(other_text)
    other.write_text(one_text)


def test_chapters_that_change_names_take_their_claims_along(project):
    """Two swapped chapters run again, and each claim is found on its new page."""
    swap_chapters(project)
    build = project.build()
    assert (["area", "colour"], 0) == (build.ran, build.code)
    places = {claim["slug"]: claim["docname"] for claim in build.claims["claims"]}
    assert ("colour", "area") == (places["area-is-six"], places["red-is-red"])


def test_results_of_another_clone_count_for_the_same_sources_only(project, tmp_path, copy_project):
    """A folder of results that was copied from elsewhere is used only where nothing differs."""
    for name, old, ran in (("same", "width * height", []), ("other", "width + height", SHAPES)):
        clone = copy_project("fresh", tmp_path / name)
        shutil.copytree(project.root / "_build", clone.root / "_build")
        clone.edit("shapes/plane.py", "width * height", old)
        assert ran == clone.build().ran


@pytest.mark.parametrize("moment", [1, 4_000_000_000])
def test_a_moved_clock_hides_no_change(project, moment):
    """Times of change in the past or the future neither run anything nor hide an edit."""
    sources = [path for path in project.root.rglob("*") if "_build" not in path.parts]
    for path in sources:
        os.utime(path, (moment, moment))
    assert [] == project.build().ran
    project.edit("shapes/plane.py", "width * height", "width + height")
    os.utime(project.root / "shapes/plane.py", (moment, moment))
    build = project.build()
    assert (SHAPES, 1) == (build.ran, build.code)


def test_bytecode_of_an_older_source_is_not_run(project):
    """A module that was edited within the same size and time gives its new behaviour."""
    edit_unseen(project)
    build = project.build()
    assert "regressed" == build.verdicts["area-is-six"]
    assert 1 == build.code


def test_a_red_chapter_runs_in_every_build(project):
    """A chapter that failed runs again although nothing changed, and only that one."""
    project.edit("data/sides.txt", "2 3", "2 4")
    assert ["area"] == project.build().ran
    assert ["area"] == project.build().ran


def test_a_file_that_changes_during_the_build_makes_it_fail(project):
    """Results whose sources changed after the cells read them are refused."""
    project.edit(
        "plain.md",
        "from executable_claims import claim\n",
        "import sys\nfrom executable_claims import claim\n\nsys.path.append('.')\nimport shapes\n"
        "with open(shapes.__file__, 'a') as file:\n    file.write('# grown\\n')\n",
    )
    build = project.build()
    assert 1 == build.code
    assert [
        "plain.md:1: the results of a chapter must come from the files as they are, but "
        "shapes/__init__.py, shapes, its cells or surroundings changed since its cells ran; build "
        "again [claims.stale]"
    ] == [warning for warning in build.warnings if "plain" in warning]


def test_results_of_removed_chapters_are_removed(project):
    """A chapter that is gone leaves no result behind."""
    (project.root / "colour.md").unlink()
    project.edit("index.md", "colour\n", "")
    assert 0 == project.build().code
    kept = sorted(path.name for path in (project.root / "_build/executed").iterdir())
    assert ["area.json", "plain.json", "sub%2Fbeside.json"] == kept


def test_an_edit_of_an_installed_package_counts(tmp_path):
    """Editing an installed file changes the key, even when its size and time are put back."""
    module = tmp_path / "package/module.py"
    module.parent.mkdir()
    module.write_text("ONE = 1")
    before = digest.installed_digest([str(tmp_path)])
    status = module.stat()
    module.write_text("ONE = 2")
    os.utime(module, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert before != digest.installed_digest([str(tmp_path)])


def test_an_edit_of_a_module_on_the_python_path_counts(tmp_path):
    """Modules elsewhere that PYTHONPATH makes importable are part of the key."""
    module = tmp_path / "elsewhere/module.py"
    module.parent.mkdir()
    module.write_text("ONE = 1")
    variables = {"PYTHONPATH": str(module.parent)}
    before = digest.look_around(tmp_path, (), (), variables).key([], tmp_path)
    module.write_text("ONE = 2")
    assert before != digest.look_around(tmp_path, (), (), variables).key([], tmp_path)


def test_another_version_of_a_package_counts(tmp_path):
    """Another version in a package's metadata changes the key, its code left as it is."""
    metadata = tmp_path / "package-2.0.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Version: 2.0")
    before = digest.installed_digest([str(tmp_path)])
    metadata.write_text("Version: 1.9")
    assert before != digest.installed_digest([str(tmp_path)])


def test_another_python_counts(tmp_path, monkeypatch):
    """The same chapter has another key under another Python."""
    before = digest.look_around(tmp_path, (), ()).key([], tmp_path)
    monkeypatch.setattr(digest.sys, "version", "4.0.0")
    assert before != digest.look_around(tmp_path, (), ()).key([], tmp_path)


def test_the_extension_itself_counts(tmp_path, monkeypatch):
    """An edit of this extension's code changes the key of every chapter."""
    copy = tmp_path / "extension"
    shutil.copytree(digest.OWN_FOLDER, copy)
    monkeypatch.setattr(digest, "OWN_FOLDER", copy)
    before = digest.look_around(tmp_path, (), ()).key([], tmp_path)
    with (copy / "evidence.py").open("a") as file:
        file.write("# changed\n")
    assert before != digest.look_around(tmp_path, (), ()).key([], tmp_path)
