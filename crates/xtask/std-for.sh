#!/usr/bin/env bash
# Builds Rust's standard library for a target for which `rustup target add` cannot have it, and links the result as a toolchain.
#
#     std-for.sh TARGET NAME        then: cargo +NAME build --target TARGET
#
# The sources must be those of the installed compiler. They are looked for in $RUST_SRC (a folder that holds library/), in the component
# rust-src of rustup, and in Debian's package rust-src. The crates that they need come from the registry, as for any build.
set -euo pipefail
target=$1 name=$2
version=$(rustc -V | cut -d' ' -f2)

sources() {
    local folder
    for folder in "${RUST_SRC:-}" "$(rustc --print sysroot)/lib/rustlib/src/rust" "/usr/src/rustc-$version"; do
        [ -n "$folder" ] && [ -f "$folder/library/Cargo.lock" ] && { echo "$folder"; return; }
    done
    return 1
}

source=$(sources) || {
    echo "the sources of the standard library of Rust $version are missing: rustup component add rust-src," \
        "or apt-get install rust-src of that version, or name a folder by RUST_SRC" >&2
    exit 1
}
linked=${RUSTUP_HOME:-$HOME/.rustup}/toolchains-linked/$name
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/library" "$work/library"
mkdir -p "$work/seed/src"
: > "$work/seed/src/lib.rs"
printf '[package]\nname = "seed"\nversion = "0.0.0"\nedition = "2024"\n' > "$work/seed/Cargo.toml"
# Cargo builds the standard library on stable toolchains only where it is told that these are its own tests.
# With bitcode, so that a program can be optimised together with it.
(cd "$work/seed" && CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CARGO_TARGET_DIR="$work/out" \
    RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT="$work/library" RUSTFLAGS=-Cembed-bitcode=yes \
    cargo build --release -Zbuild-std=std,panic_unwind,test --target "$target")
rm -rf "$linked"
mkdir -p "$(dirname "$linked")"
# Hard links where these are possible: a toolchain has some gigabytes.
cp -al "$(rustc --print sysroot)" "$linked" 2>/dev/null || cp -a "$(rustc --print sysroot)" "$linked"
mkdir -p "$linked/lib/rustlib/$target/lib"
cp "$work/out/$target"/release/deps/*.rlib "$linked/lib/rustlib/$target/lib/"
rm -f "$linked/lib/rustlib/$target/lib/"libseed-*
rustup toolchain link "$name" "$linked"
