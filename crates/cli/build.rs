//! Makes `corewise_entry` the first instruction of the program, where the crate `corewise-entry` has it, and packs the JSON schemas.

fn main() {
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "linux" && ["x86_64", "aarch64"].contains(&target("ARCH").as_str()) {
        println!("cargo::rustc-link-arg-bins=-Wl,-e,corewise_entry");
    }
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "measuring")]
    schemas::pack_files();
}

#[cfg(feature = "measuring")]
mod schemas {
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::path::{Path, PathBuf};

    use flate2::{Compression, GzBuilder};

    /// Folder of the schemas, relative to this crate.
    const FOLDER: &str = "schema";

    /// Writes all schemas into one compressed file: the name of each, a line end, its text, and a NUL.
    pub fn pack_files() {
        println!("cargo::rerun-if-changed={FOLDER}");
        let listed = fs::read_dir(FOLDER).expect("the crate has this folder");
        let mut files: Vec<PathBuf> = listed.map(|entry| entry.expect("the folder can be listed").path()).collect();
        files.sort();
        let packed = Path::new(&std::env::var_os("OUT_DIR").expect("cargo names a folder")).join("schemas.gz");
        let packed = File::create(packed).expect("cargo's folder can be written");
        // Without a time, two builds give the same bytes.
        let mut packed = GzBuilder::new().mtime(0).write(packed, Compression::best());
        for file in files {
            let name = file.file_stem().expect("a schema has a name").to_string_lossy();
            let text = fs::read_to_string(&file).expect("a schema can be read");
            write!(packed, "{name}\n{text}\0").expect("the schemas can be packed");
        }
        packed.finish().expect("the schemas can be packed");
    }
}
