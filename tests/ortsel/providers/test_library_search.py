"""Provider libraries by path and by package."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from ortsel import SelectionConfig, UsageError
from ortsel.providers import (
    PluginLibraryError,
    library_at,
    library_of,
    library_of_package,
)
from tests.ortsel.providers.plugin_models import PACKAGE


def fake(folder: Path, name: str = "libmine.so", content: bytes = b"\0CreateEpFactories\0") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_file_is_named_after_itself_and_known_by_its_content(tmp_path: Path) -> None:
    path = fake(tmp_path)
    library = library_at(path)
    assert library.registration == "mine"
    assert library.path == str(path)
    assert library.content == hashlib.sha256(path.read_bytes()).hexdigest()
    assert library_at(path, "other").registration == "other"


def test_the_same_content_elsewhere_is_the_same_library_and_another_content_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, same = library_at(fake(tmp_path / "a")), library_at(fake(tmp_path / "b"))
    assert one == same
    assert one.parts() == same.parts()
    other = library_at(fake(tmp_path / "b", content=b"\1CreateEpFactories\0"))
    assert other.parts() != one.parts()
    assert library_at(fake(tmp_path / "a"), "renamed").parts() != one.parts()


def test_an_entry_point_across_two_chunks_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ortsel.providers.library_search.CHUNK_BYTES", 8)
    assert library_at(fake(tmp_path)).registration == "mine"


def test_an_installed_package_is_searched_without_importing_it() -> None:
    library = library_of(PACKAGE)
    assert library == library_of_package(PACKAGE)
    assert library.registration == PACKAGE.replace("-", "_")
    assert library_of(library.path).content == library.content
    assert library_of(Path(library.path)).content == library.content


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no-such-package", "got no such package, need the name of an installed package"),
        ("", "got no such package"),
        ("/no/such/file.so", "got no such file, need a provider's shared library"),
        ("no-such.so", "got no such file"),
        ("attrs", "got no provider library in it, need exactly one"),
    ],
)
def test_what_is_no_library_is_refused(place: str, message: str) -> None:
    with pytest.raises(PluginLibraryError, match=message):
        library_of(place)


def test_a_file_without_the_entry_point_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginLibraryError, match="got no provider, need a library that exports"):
        library_of(fake(tmp_path, content=b"something else"))
    assert library_of(fake(tmp_path)).registration == "mine"


def test_a_package_with_two_libraries_asks_which_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    information = tmp_path / "two_libraries-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: two-libraries\nVersion: 1")
    (information / "RECORD").write_text("one.so,,\ntwo.so,,\n")
    fake(tmp_path, "one.so")
    monkeypatch.syspath_prepend(tmp_path)
    assert library_of_package("two-libraries").path == str(tmp_path / "one.so")
    fake(tmp_path, "two.so")
    with pytest.raises(PluginLibraryError, match=r"got one\.so, two\.so, need exactly one"):
        library_of_package("two-libraries")


def test_a_configuration_takes_packages_paths_and_libraries(tmp_path: Path) -> None:
    path = fake(tmp_path)
    config = SelectionConfig(plugins=[PACKAGE, path, str(path), library_at(path)])
    assert config.plugins == (library_of(PACKAGE), *[library_at(path)] * 3)
    assert SelectionConfig().plugins == ()


@pytest.mark.parametrize("wrong", [PACKAGE, 3, [3], None])
def test_a_configuration_refuses_what_names_no_library(wrong: Any) -> None:
    with pytest.raises(UsageError, match="plugins: got"):
        SelectionConfig(plugins=wrong)
