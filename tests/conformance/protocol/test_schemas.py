"""The schema files: one per message and direction, as the messages are."""

from pathlib import Path

from conformance.protocol.__main__ import main
from conformance.protocol.schemas import FOLDER, differences, schema_files, write


def test_the_files_are_what_the_messages_say() -> None:
    assert len(schema_files()) == 18
    assert differences() == ()


def test_a_changed_a_missing_and_a_strange_file_are_seen_and_mended(tmp_path: Path) -> None:
    write(tmp_path)
    assert differences(tmp_path) == ()
    (tmp_path / "from-suite" / "hello.json").write_text("{}\n")
    (tmp_path / "from-suite" / "bye.json").unlink()
    (tmp_path / "from-suite" / "wink.json").write_text("{}\n")
    assert differences(tmp_path) == (
        "from-suite/bye.json",
        "from-suite/hello.json",
        "from-suite/wink.json",
    )
    write(tmp_path)
    assert differences(tmp_path) == ()


def test_the_command_lints_and_refuses_other_words() -> None:
    assert FOLDER.is_dir()
    assert main(["lint"]) == 0
    assert main(["polish"]) == 2
