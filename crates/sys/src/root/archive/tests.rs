//! Tests of reading archives: packings, places, limits, hostile names.

use super::*;
use proptest::prelude::*;

const ONLINE: &str = "sys/devices/system/cpu/online";

fn tar_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        if path.len() < 100 {
            // Written as it stands: the builder would refuse names that a hostile archive may have.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        } else {
            builder.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

fn machine(bytes: &[u8]) -> Result<RecordedFiles, String> {
    read_archive(Path::new("m.tar"), bytes).map_err(|error| error.to_string())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_packing_is_known_by_its_bytes() {
    let plain = tar_of(&[(&format!("name/{ONLINE}"), "0-3")]);
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    io::Write::write_all(&mut bzip2, &plain).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    io::Write::write_all(&mut xz, &plain).unwrap();
    for packed in [gzip(&plain), bzip2.finish().unwrap(), xz.finish().unwrap(), plain] {
        assert_eq!(machine(&packed).unwrap().file_text(ONLINE), Some("0-3"));
    }
}

#[test]
fn long_names_are_read_and_too_long_ones_passed_over() {
    let deep = |length: usize| format!("{}/{ONLINE}", "x".repeat(length));
    assert_eq!(machine(&tar_of(&[(&deep(120), "0")])).unwrap().file_text(ONLINE), Some("0"));
    let too_long = tar_of(&[(ONLINE, "0"), (&deep(2_000), "1")]);
    assert_eq!(machine(&too_long).unwrap().file_text(ONLINE), Some("0"));
}

#[test]
fn hostile_names_lead_nowhere() {
    let files = machine(&tar_of(&[
        ("/proc/cpuinfo", "absolute"),
        ("../../proc/cpuinfo", "above"),
        ("a/../proc/version", "through"),
        (ONLINE, "0"),
    ]));
    let files = files.unwrap();
    assert!(machine(&tar_of(&[("../proc/cpuinfo", "above")])).is_err(), "not even alone");
    assert_eq!(files.file_text("proc/cpuinfo"), Some("absolute"), "taken as relative");
    assert_eq!(files.file_text("proc/version"), None);
}

#[test]
fn what_is_no_machine_says_what_it_lacks() {
    assert_eq!(machine(b"").unwrap_err(), "m.tar is not a recorded machine: the file is empty");
    assert_eq!(
        machine(b"hello").unwrap_err(),
        "m.tar is not a recorded machine: neither a tar archive, an inline file, an hwloc XML export nor the output of lscpu, numactl -H, lstopo, /proc/cpuinfo or /proc/interrupts"
    );
    assert_eq!(
        machine(&tar_of(&[("README", "x")])).unwrap_err(),
        "m.tar is not a recorded machine: no sys/devices/system/cpu in it"
    );
    let packed = gzip(&tar_of(&[(ONLINE, "0")]));
    assert!(machine(&packed[..packed.len() / 2]).unwrap_err().starts_with("m.tar is damaged: "));
}

#[test]
fn an_archive_that_is_cut_off_or_changed_is_refused_in_plain_words() {
    let text = "0-3\n".repeat(2_000);
    let plain = tar_of(&[(ONLINE, "0"), ("proc/cpuinfo", &text)]);
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    io::Write::write_all(&mut bzip2, &plain).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    io::Write::write_all(&mut xz, &plain).unwrap();
    let all =
        [("gzip", gzip(&plain)), ("bzip2", bzip2.finish().unwrap()), ("xz", xz.finish().unwrap()), ("tar", plain)];
    for (name, whole) in all {
        let cut = machine(&whole[..whole.len() * 2 / 3]).unwrap_err();
        assert_eq!(cut, "m.tar is damaged: the archive is cut off", "{name}");
        let mut changed = whole.clone();
        let at = if name == "tar" { 1_024 + 150 } else { whole.len() / 2 };
        changed[at..at + 4].iter_mut().for_each(|byte| *byte ^= 0x55);
        let why = machine(&changed).unwrap_err();
        assert!(
            ["its bytes are not what its checksums say", "the archive is cut off"].iter().any(|end| why.ends_with(end)),
            "{name}: {why}"
        );
    }
}

#[test]
fn links_to_the_nodes_near_memory_are_known_by_name() {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, leads_to) in [
        ("m/sys/devices/system/node/node1/access0/initiators/node0", "../../../node0"),
        ("m/proc/version", "/etc/passwd"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, path, leads_to).unwrap();
    }
    let online = tar_of(&[(&format!("m/{ONLINE}"), "0")]);
    let mut bytes = builder.into_inner().unwrap();
    bytes.truncate(1_024);
    bytes.extend(online);
    let files = machine(&bytes).unwrap();
    assert_eq!(files.folder_names("sys/devices/system/node/node1/access0/initiators"), ["node0"]);
    assert_eq!(files.file_text("proc/version"), None);
}

#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = vec![0_u8; 64 << 20];
    let mut tar = tar_of(&[(ONLINE, "0")]);
    tar.truncate(1_024); // header and text, without the two blocks that end an archive
    let mut header = tar::Header::new_gnu();
    header.set_path("proc/cpuinfo").unwrap();
    header.set_size(zeros.len() as u64);
    header.set_cksum();
    tar.extend_from_slice(header.as_bytes());
    tar.extend_from_slice(&zeros);
    assert_eq!(machine(&gzip(&tar)).unwrap_err(), "reading m.tar was stopped: a file of it in bytes exceeds 33554432");
    let exceeded = Rc::new(Cell::new(false));
    let mut limited = LimitedReader { inner: io::repeat(0), left: 100, exceeded: exceeded.clone() };
    assert!(io::copy(&mut limited, &mut io::sink()).is_err());
    assert!(exceeded.get());
}

#[test]
fn an_inline_file_may_stand_alone_or_in_an_archive() {
    let inline = format!("# Format: <ro|rw>|<path>|<value>\nro|/{ONLINE}|0-7\nro|/sys/other|1\n");
    assert_eq!(machine(inline.as_bytes()).unwrap().file_text(ONLINE), Some("0-7"));
    let files = machine(&tar_of(&[("m/proc/cpuinfo", "processor: 0"), ("m/sys/inlinefiles.txt", &inline)])).unwrap();
    assert_eq!(files.file_text(ONLINE), Some("0-7"));
    assert_eq!(files.file_text("proc/cpuinfo"), Some("processor: 0"));
    assert_eq!(files.file_text("sys/other"), None);
}

#[test]
fn a_dump_beside_the_machine_comes_with_it() {
    let files = machine(&tar_of(&[("m/cpuid/pu0", "1 0"), ("m/fsroot/sys/devices/system/cpu/online", "0")])).unwrap();
    assert_eq!(files.file_text("cpuid/pu0"), Some("1 0"));
    assert_eq!(files.file_text(ONLINE), Some("0"));
    assert_eq!(machine(&tar_of(&[("m/pu1", "1 0")])).unwrap().folder_names("cpuid"), ["pu1"]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..2_000), pack in any::<bool>()) {
        if pack {
            bytes = gzip(&bytes);
        }
        let _ = machine(&bytes);
    }

    #[test]
    fn a_changed_byte_never_panics(at in 0_usize..3_000, value in any::<u8>()) {
        let mut bytes = tar_of(&[(&format!("{}/{ONLINE}", "x".repeat(120)), "0-3"), ("m/proc/cpuinfo", "processor: 0")]);
        let at = at % bytes.len();
        bytes[at] = value;
        let _ = machine(&bytes);
    }
}
