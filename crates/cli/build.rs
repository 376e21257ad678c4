//! Makes `corewise_entry` the first instruction of the program, where the crate `corewise-entry` has it.

fn main() {
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "linux" && ["x86_64", "aarch64"].contains(&target("ARCH").as_str()) {
        println!("cargo::rustc-link-arg-bins=-Wl,-e,corewise_entry");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
