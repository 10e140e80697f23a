#!/bin/sh
# Build the implementation. Usage: build.sh TARGET_FOLDER; prints the path of the program.
set -eu
here=$(dirname "$0")
target=${1:?usage: build.sh TARGET_FOLDER}
mkdir -p "$target"
rustc -O --edition 2024 -D warnings --crate-name small_selector \
    -o "$target/small-selector" "$here/src/main.rs"
echo "$target/small-selector"
